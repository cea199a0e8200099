/**
 * What Unicode 18 brought to hosts, as strings that js/nano/characters.ts reads. Written by scripts/unicode.mjs from
 * scripts/unicode.txt. FORMAT.md section 10, the second reading.
 */

/** Characters that become others. */
export const MAPPED =
  "xs+f 48+f 1f-w 1-n 26s.12+5ls 2bo+1 et-5vj cy-6dc g-6ds t-6cm 1.2-6cl 43+s 29+1 o7-796 26w-9g4 nnt-wo7 1+1 2+1 4+1 2+1 6+1 2-wu9 1-wo6 5-wo6 f-x32 or.2-x ge5-1e85 47.2m-1ecg 3-1eer 1ne-1flg 1.2-1fl2 1-1fkw 1+16j0 13l.m+w j7f.p+r d4b=こと 1=トキ 1=トテ 1=ヨリ 5gw.q-2iyd 1.a-2j0g 1wt=ss 88-2l5q a-2l60 a-2l6a a-2l6k a-2l6u 1fu+1 8+1 2+1 3+1 4+1 n+1 2+1 2+1 2+1 4+1 2+1 2+1 2+1 2+1 2+1 2+1 n=ss 1k.3-3a 1-2mb1 1-2h15 1-2mhe 1-2mki 1-2men 1-2mj7 1-2mgs 1-3r 1-4a 1-2mc0 1-2gyj 1-4c 1-2mgu 1-2map 1.2-2mcm 1-51 1-5k 1-2mak 1-2gy3 1-54 1-5l 1-2mab 1-2gy5 1-2h2b 1-2h2h 1-2h2b 1-2mb0 1-2mav 1.2-2m9r 1-2mdq 1.3-2md8 1.2-2m23 1-2gz8 1-1ppd 1-2gz4 1-2gz2 1-2gyz 1-2mia 1-2mhu 1-2mhj 1-2mal 1-2mhd 1-6u 5ip-2sao";

/** Characters that stay as they are. */
export const VALID =
  "154.2 jq 8 jg.2 7c 3k 27e jt.y 2m.2 1c 7f sl 1e.4 o3.3 1gt ju.4 ox.2 nag 2 c gko.g ce.2 1j.7 1ki.1g nh.q rr.g q.t 9.2 8j.6 2.12 2.d w4.a 2 3 2.12 2.a 2 3 2.4 2.a 2.2 9.2 ku.k tj 2e.8 2h.y f.a c7.18 5.a 7.2 a1 105 6.b 5t.8n 2qi.32z 5qe.1m 2dj.1m 8y.p 7z.5 4qq.8 yf.5 11 a.o 2o.37 e.pe f.1f 66t.2 1s 594.5y 11.3 4.c4 7.n 2.3 9.x fe.2 5f.l 29.1e 1of.t sj.6 7.l 2.7 2 2.2 2.3 2.m 2 2 2 2.3 2 2 2 2 2 2 2.3 f.5 2 18a.17 5 5d.v 2.m 9.2 23z 10q.2 4e.4 2o.2 m.f 4z.a 5.2 f.9 ak.4 1e.7 1b 8 2 4.2 f.2 2 a.3 4 a.2 5t.11 b 10zk.6 67 4g4.c 5s3.ha 1zf c 4r 1s 2o 8a9.3be upz.8qo";

/** Characters that nobody sees. */
export const INVISIBLE = "4t iq jx 283.2 190.2 2e.5 1ks.5 r.5 1e.g 3cl 14f0.g 6o 4h 28.9 119k.4 440.8 h406.35s";
