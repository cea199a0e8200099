/**
 * What Unicode 18 brought to hosts, as a string that js/plain/characters.ts reads. Written by scripts/unicode.mjs from
 * scripts/unicode.txt. FORMAT-URLS.md, the second reading.
 */
export const CHARACTERS =
  "4t=Aip=Aa8+fA47+fA1e-12jA-12tA1nB2a=AheA7AjfB7bA3jAqr-8w0BL49=B18z=B28A4=EjjBH2lB1bA7d+A0Aer-67Aa4=Eq=E1d=P-1cAf-1cAeAd-3bA-3dBxD31+sA28+AirC5c-1cA1bfAjtDbi-1aA9t=A3jBnad-h0A+A0A+A0A2+A1+A5+A0A-bfA-hjA4-hoAe-37Aoq-xu3Bfv9PcdB1iG1d=P2i-11A44=A1-xDP2-1aA1q=A27=I153BZcn-hzA-ieB-imA-2mmjAaoZrqP+wV3BC8B8iF1BL1Mw3J1A2A1BL1J1A2A1D1J1B8BktTtiA2dH2gBHeJc6BR4J6Ba0A104A5K5sLY2qhFXQ5qdCF2diCF86+rY2Y7yE4qpHyeE10A9X2nEKdBJDeBY66o=ことA=トキA=トテA=ヨリA0B1rA27r=D318IF-2pZ-1cJ0C3QT6W1C8BGfdB22=H34U28BXtg=ssA87-1cA9-1cA9-1cA9-1cA9-1cAllBCsiF6U+A0G+A0A+A0B+A0C+A0V+A0A+A0A+A0A+A0C+A0A+A0A+A0A+A0A+A0A+A0A+A0CeE=ssA0A1i-2monC-gzA-5qwA-aoA-7lA-dhA-8yA-beA-2mogA-2mnyA-g9A-5trA-2mnzA-biA-hoA-fsB-2mnfA-2mmxA-hyA-5ugA-2mngA-2mn0A-ibA-5uiA-5qdA-5q8A-5qfA-hrA-hxA-j2B-f5A-foC-qwB-5ttA-x3pA-5tzA-5u2A-5u6A-awA-bdA-bpA-ioA-bxA-2mmhA15cBQ4A5cBE1V8B23yA10pB4dD2nBlO4yJ4BeIajD1dG1aA7A1A3BeB1A9C3A9B5sBK-1cA9A10zjF66A4g3L5s2XX1zeAbA4qA1rA2nA8a8GJHupyQTRe2f4=GBN";
