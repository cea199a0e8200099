/**
 * What lines look like, whatever they are read as: for hints about a profile that doesn't fit. The tool does the same in
 * cli/src/lists/look.rs, which has the public suffix list instead of these endings.
 */

/** The endings of countries, and the others that are in most lists of hosts. A list is judged by most of its lines. */
const ENDINGS = new Set(
  (
    "ac ad ae af ag ai al am ao aq ar as at au aw ax az ba bb bd be bf bg bh bi bj bm bn bo br bs bt bw by bz ca cc cd " +
    "cf cg ch ci ck cl cm cn co cr cu cv cw cx cy cz de dj dk dm do dz ec ee eg er es et eu fi fj fk fm fo fr ga gd ge " +
    "gf gg gh gi gl gm gn gp gq gr gs gt gu gw gy hk hm hn hr ht hu id ie il im in io iq ir is it je jm jo jp ke kg kh " +
    "ki km kn kp kr kw ky kz la lb lc li lk lr ls lt lu lv ly ma mc md me mg mh mk ml mm mn mo mp mq mr ms mt mu mv mw " +
    "mx my mz na nc ne nf ng ni nl no np nr nu nz om pa pe pf pg ph pk pl pm pn pr ps pt pw py qa re ro rs ru rw sa sb " +
    "sc sd se sg sh si sk sl sm sn so sr ss st su sv sx sy sz tc td tf tg th tj tk tl tm tn to tr tt tv tw tz ua ug uk " +
    "us uy uz va vc ve vg vi vn vu wf ws ye yt za zm zw " +
    "aero app art asia autos bar beauty best bet bid biz blog bond business buzz cam capital casino center cfd chat " +
    "click cloud club com company cyou date dev digital email example exchange finance fit foundation fun fund fyi game " +
    "games gay gold gov group guru help homes host hosting icu inc info ink int jobs land law life link live loan lol " +
    "love ltd market media men mil mobi mom monster museum name net network news ninja one online org page party " +
    "photos pics pink plus press pro properties pub quest racing rest review rocks run sale sbs school science services " +
    "shop site skin social software solutions space store stream studio support systems team tech technology tel tips " +
    "today tools top trade travel vip website wiki win work works world wtf xxx xyz zone"
  ).split(" "),
);

const BEGINS = /^(?:https?:\/\/|\|\||(?:0\.0\.0\.0|127\.0\.0\.1|::1?)\s)/i;
const HOST = /^(?:[\p{L}\p{M}\p{N}_-]+\.)+([a-z]+|xn--[a-z0-9-]+)\.?(?::\d+)?(?:[/?#]\S*)?$/iu;

/** Whether a line looks like a URL, a host, or a line of a hosts file or an adblock list. */
export function isUrl(line: string): boolean {
  if (BEGINS.test(line)) return true;
  if (!line.includes(".") || line.length > 2000) return false;
  const ending = HOST.exec(line)?.[1]?.toLowerCase();
  return ending !== undefined && (ENDINGS.has(ending) || ending.startsWith("xn--"));
}

/** Whether a line looks like the hash of a password: SHA-1, NTLM, or SHA-1 without its first five digits. */
export const isHash = (line: string): boolean =>
  /^(?:[0-9a-f]{40}|[0-9a-f]{32}|[0-9a-f]{35})(?:\s*:\s*\d+\s*)?$/i.test(line);

/** How many of some lines look like URLs or hosts, and how many like hashes. Comments and blank lines aren't counted. */
export interface Look {
  lines: number;
  urls: number;
  hashes: number;
}

/** As the tool does it, a hash of a list of passwords counts by itself, and elsewhere only with a count after it: ids are often such. */
export function lookOf(lines: Iterable<string>, profile: string): Look {
  const look = { lines: 0, urls: 0, hashes: 0 };
  for (const raw of lines) {
    const line = raw.trim();
    if (!line || /^(?:#|!|\[adblock)/i.test(line)) continue;
    look.lines++;
    if (isUrl(line)) look.urls++;
    else if (isHash(line) && (profile === "password" || line.includes(":"))) look.hashes++;
  }
  return look;
}

/** Whether a list is one of URLs or of hashes. A few hosts are in many lists, hashes in none but their own. */
export const areUrls = ({ lines, urls }: Look) => urls > lines / 2;
export const areHashes = ({ lines, hashes }: Look) => hashes > lines / 10;
