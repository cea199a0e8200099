/**
 * The part of WASI preview 1 that the tool imports, over node:fs. Node's own, `node:wasi`, follows neither links out of
 * a folder nor `..`, knows no file modes and no names that aren't UTF-8, prints a warning, and is in no other runtime.
 *
 * The specification: https://github.com/WebAssembly/WASI/blob/wasi-0.1/preview1/docs.md
 */
import { randomFillSync } from "node:crypto";
import * as fs from "node:fs";
import { dirname } from "node:path";
import { isatty } from "node:tty";
import { toHost, toWasi } from "./paths.js";

/** WASI's errors; the first is number 1. */
const ERRORS = `
  2BIG ACCES ADDRINUSE ADDRNOTAVAIL AFNOSUPPORT AGAIN ALREADY BADF BADMSG BUSY CANCELED CHILD CONNABORTED CONNREFUSED
  CONNRESET DEADLK DESTADDRREQ DOM DQUOT EXIST FAULT FBIG HOSTUNREACH IDRM ILSEQ INPROGRESS INTR INVAL IO ISCONN ISDIR
  LOOP MFILE MLINK MSGSIZE MULTIHOP NAMETOOLONG NETDOWN NETRESET NETUNREACH NFILE NOBUFS NODEV NOENT NOEXEC NOLCK NOLINK
  NOMEM NOMSG NOPROTOOPT NOSPC NOSYS NOTCONN NOTDIR NOTEMPTY NOTRECOVERABLE NOTSOCK NOTSUP NOTTY NXIO OVERFLOW OWNERDEAD
  PERM PIPE PROTO PROTONOSUPPORT PROTOTYPE RANGE ROFS SPIPE SRCH STALE TIMEDOUT TXTBSY XDEV NOTCAPABLE`
  .trim()
  .split(/\s+/);

/** The one folder that is open from the start: `/`. An opened file has the host's number plus one. */
const ROOT = 3;
const CREATE = 1;
const DIRECTORY = 2;
const EXCLUSIVE = 4;
const TRUNCATE = 8;
const APPEND = 1;
const FOLLOW = 1;
const READ = 1n << 1n;
const SEEK_AND_TELL = (1n << 2n) | (1n << 5n);
const WRITE = 1n << 6n;
const ALL_RIGHTS = (1n << 30n) - 1n;
const TERMINAL = 2;

/** Thrown when the program exits. */
class Exit {
  constructor(/** @type {number} */ code) {
    this.code = code;
  }
}

/**
 * Prints a line and ends the program with code 2.
 *
 * @param {string} line
 * @returns {never}
 */
function fail(line) {
  fs.writeSync(2, `bloom-wasm: ${line}\n`);
  throw new Exit(2);
}

/** An error as node:fs throws it. */
const error = (/** @type {string} */ code) => Object.assign(new Error(code), { code });

/** WASI's type of a file. It has none for a pipe. */
function fileType(/** @type {fs.BigIntStats | fs.Dirent<Buffer>} */ stats) {
  if (stats.isBlockDevice()) return 1;
  if (stats.isCharacterDevice()) return TERMINAL;
  if (stats.isDirectory()) return 3;
  if (stats.isFile()) return 4;
  if (stats.isSocket()) return 6;
  return stats.isSymbolicLink() ? 7 : 0;
}

/** Whether a file or a folder of this name, of cli/src/files/write.rs, is for its owner alone, or published. */
const isPrivate = (/** @type {Buffer} */ name) => /(^|\/)\.bloom-wasm-private-[^/]*$/.test(name.toString("latin1"));
const isOwn = (/** @type {Buffer} */ name) => /(^|\/)\.bloom-wasm-own-[^/]*$/.test(name.toString("latin1"));

/** Retries while a pipe is empty or full: another program may have made it non-blocking. */
function waiting(/** @type {() => number} */ run) {
  for (;;) {
    try {
      return run();
    } catch (error) {
      const { code } = /** @type {NodeJS.ErrnoException} */ (error);
      // Windows reports a closed pipe like this.
      if (code === "EOF") return 0;
      if (code !== "EAGAIN") throw error;
      Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 5);
    }
  }
}

/** The current folder's WASI path. If it was deleted, any name will do, since nothing can be found in it. */
function currentFolder() {
  try {
    return toWasi(fs.realpathSync.native(".", "buffer").toString("latin1"));
  } catch (error) {
    if (/** @type {NodeJS.ErrnoException} */ (error).code !== "ENOENT") throw error;
    return "/(deleted)";
  }
}

/**
 * Runs a program to its end, and returns its exit code.
 *
 * @param {WebAssembly.Module} module
 * @param {Uint8Array[]} args
 * @param {Record<string, string | undefined>} environment
 * @param {import("./temporary.js").Temporary} temporary Told of each new file until it is renamed or removed.
 * @param {import("./temporary.js").Temporary} lock Told of a new file whose name ends in `.lock`.
 */
export function start(module, args, environment, temporary, lock) {
  const folder = currentFolder();
  const variables = Object.entries({ ...environment, PWD: undefined }).filter(([, value]) => value !== undefined);
  const lists = {
    args,
    environ: [
      ...variables.map(([name, value]) => Buffer.from(`${name}=${value}`)),
      Buffer.from(`PWD=${folder}`, "latin1"),
    ],
  };
  /** @type {WebAssembly.Memory} */
  let memory;
  const view = () => new DataView(memory.buffer);
  const bytes = (/** @type {number} */ start, /** @type {number} */ length) =>
    new Uint8Array(memory.buffer, start, length);

  const path = (/** @type {number} */ start, /** @type {number} */ length) =>
    Buffer.from(toHost(Buffer.from(bytes(start, length)).toString("latin1"), folder), "latin1");
  const file = (/** @type {number} */ fd) => (fd < ROOT ? fd : fd - 1);
  /** The paths of open folders, and what was in them when they were first read. */
  const folders = /** @type {Map<number, { name: Buffer, entries: fs.Dirent<Buffer>[] }>} */ (new Map());
  /** The pieces of memory that a call reads into, or writes. */
  const pieces = (/** @type {number} */ start, /** @type {number} */ count) =>
    Array.from({ length: count }, (_, i) =>
      bytes(view().getUint32(start + 8 * i, true), view().getUint32(start + 8 * i + 4, true)),
    );
  const count = (/** @type {number} */ start, /** @type {number} */ number) => view().setUint32(start, number, true);

  function stats(/** @type {number} */ start, /** @type {fs.BigIntStats} */ stats) {
    bytes(start, 64).fill(0);
    view().setBigUint64(start, stats.dev, true);
    view().setBigUint64(start + 8, stats.ino, true);
    view().setUint8(start + 16, fileType(stats));
    view().setBigUint64(start + 24, stats.nlink, true);
    view().setBigUint64(start + 32, stats.size, true);
    view().setBigUint64(start + 48, stats.mtimeNs, true);
  }

  /** The calls for the arguments, and for the environment: a list of texts that end in a zero. */
  function list(/** @type {"args" | "environ"} */ name) {
    const list = lists[name];
    return {
      [`${name}_sizes_get`](/** @type {number} */ number, /** @type {number} */ size) {
        count(number, list.length);
        count(
          size,
          list.reduce((sum, text) => sum + text.length + 1, 0),
        );
      },
      [`${name}_get`](/** @type {number} */ starts, /** @type {number} */ start) {
        for (const [i, text] of list.entries()) {
          count(starts + 4 * i, start);
          bytes(start, text.length).set(text);
          start += text.length;
          view().setUint8(start++, 0);
        }
      },
    };
  }

  /** @type {Record<string, (...args: any[]) => void>} */
  const calls = {
    ...list("args"),
    ...list("environ"),
    clock_time_get(id, _precision, time) {
      const now = Date.now();
      // WASI has no times before 1970, and the standard library has no error for them.
      if (id === 0 && now < 0) fail("the clock of this system is wrong: the time is before 1970");
      view().setBigUint64(time, id === 0 ? BigInt(now) * 1_000_000n : process.hrtime.bigint(), true);
    },
    random_get(start, length) {
      randomFillSync(bytes(start, length));
    },
    sched_yield() {},
    proc_exit(code) {
      throw new Exit(code);
    },

    fd_prestat_get(fd, start) {
      if (fd !== ROOT) throw error("EBADF");
      view().setUint8(start, 0);
      count(start + 4, 1);
    },
    fd_prestat_dir_name(_fd, start) {
      bytes(start, 1).set(Buffer.from("/"));
    },
    fd_fdstat_get(fd, start) {
      const terminal = fd < ROOT && isatty(fd);
      bytes(start, 24).fill(0);
      if (fd === ROOT) view().setUint8(start, 3);
      else view().setUint8(start, terminal ? TERMINAL : fileType(fs.fstatSync(file(fd), { bigint: true })));
      // Programs recognise a terminal by the missing rights.
      view().setBigUint64(start + 8, terminal ? ALL_RIGHTS & ~SEEK_AND_TELL : ALL_RIGHTS, true);
      view().setBigUint64(start + 16, ALL_RIGHTS, true);
    },
    fd_filestat_get(fd, start) {
      stats(start, fs.fstatSync(file(fd), { bigint: true }));
    },
    fd_read(fd, list, length, read) {
      const piece = pieces(list, length).find((piece) => piece.length > 0);
      count(
        read,
        waiting(() => (piece ? fs.readSync(file(fd), piece) : 0)),
      );
    },
    fd_write(fd, list, length, written) {
      const full = pieces(list, length);
      count(
        written,
        waiting(() => fs.writevSync(file(fd), full)),
      );
    },
    // The standard library asks for its place in a file only to guess how much is left.
    fd_seek() {
      throw error("ESPIPE");
    },
    fd_sync(fd) {
      fs.fsyncSync(file(fd));
    },
    fd_close(fd) {
      fs.closeSync(file(fd));
      folders.delete(fd);
    },
    fd_readdir(fd, start, room, cookie, used) {
      const folder = folders.get(fd);
      if (!folder) throw error("ENOTDIR");
      if (cookie === 0n) folder.entries = fs.readdirSync(folder.name, { encoding: "buffer", withFileTypes: true });
      const entries = folder.entries.slice(Number(cookie)).map((entry, i) => {
        const head = Buffer.alloc(24);
        head.writeBigUInt64LE(cookie + BigInt(i) + 1n, 0);
        head.writeUInt32LE(entry.name.length, 16);
        head.writeUInt8(fileType(entry), 20);
        return Buffer.concat([head, entry.name]);
      });
      // The last entry may be cut short: then the next call begins with it.
      const all = Buffer.concat(entries).subarray(0, room);
      bytes(start, all.length).set(all);
      count(used, all.length);
    },

    path_filestat_get(folder, flags, start, length, result) {
      const stat = flags & FOLLOW ? fs.statSync : fs.lstatSync;
      // The standard library asks for names that fd_readdir returned.
      const within = folders.get(folder)?.name;
      const name = within ? Buffer.concat([within, Buffer.from("/"), bytes(start, length)]) : path(start, length);
      stats(result, stat(name, { bigint: true }));
    },
    path_create_directory(_folder, start, length) {
      const name = path(start, length);
      fs.mkdirSync(name, isPrivate(name) ? 0o700 : 0o777);
    },
    path_readlink(_folder, start, length, buffer, room, used) {
      const link = Buffer.from(toWasi(fs.readlinkSync(path(start, length), "buffer").toString("latin1")), "latin1");
      count(used, Math.min(link.length, room));
      bytes(buffer, room).set(link.subarray(0, room));
    },
    path_open(_folder, _lookup, start, length, how, rights, _inherited, mode, fd) {
      const { O_APPEND, O_CREAT, O_EXCL, O_RDONLY, O_RDWR, O_TRUNC, O_WRONLY } = fs.constants;
      const name = path(start, length);
      let flags = rights & WRITE ? (rights & READ ? O_RDWR : O_WRONLY) : O_RDONLY;
      if (how & CREATE) flags |= O_CREAT;
      if (how & EXCLUSIVE) flags |= O_EXCL;
      if (how & TRUNCATE) flags |= O_TRUNC;
      if (mode & APPEND) flags |= O_APPEND;
      if (!(how & EXCLUSIVE)) {
        const opened = fs.openSync(name, flags) + 1;
        if (how & DIRECTORY) folders.set(opened, { name, entries: [] });
        return count(fd, opened);
      }
      temporary.hold();
      try {
        // It gets its final mode with its final name.
        count(fd, fs.openSync(name, flags, 0o600) + 1);
        (name.toString("latin1").endsWith(".lock") ? lock : temporary).set(name);
      } finally {
        temporary.letGo();
      }
    },
    /**
     * WASI has no modes, so a file that replaces another takes over its mode and owner. But a private one stays private,
     * and one that is published may be read by whoever may read its folder.
     */
    path_rename(_from, start, length, _to, newStart, newLength) {
      const [from, to] = [path(start, length), path(newStart, newLength)];
      const there = fs.statSync(to, { throwIfNoEntry: false });
      temporary.hold();
      try {
        if (there) {
          try {
            fs.chownSync(from, there.uid, there.gid);
          } catch {
            // Without the right to change the owner, the file keeps its own.
          }
        }
        const folderOf = (/** @type {Buffer} */ name) => Buffer.from(dirname(name.toString("latin1")), "latin1");
        const ofFolder = () => fs.statSync(folderOf(to)).mode & 0o664;
        const ofNew = () => (isOwn(from) ? ofFolder() | 0o600 : 0o666 & ~process.umask());
        if (!isPrivate(from)) fs.chmodSync(from, there ? there.mode : ofNew());
        fs.renameSync(from, to);
        if (lock.path.equals(from)) lock.set(to);
        else temporary.set(undefined);
      } finally {
        temporary.letGo();
      }
    },
    /**
     * Gives a file its final name if it must not replace another: by a second link, after which the first is removed.
     */
    path_link(_from, _lookup, start, length, _to, newStart, newLength) {
      fs.linkSync(path(start, length), path(newStart, newLength));
    },
    path_unlink_file(_folder, start, length) {
      const name = path(start, length);
      temporary.hold();
      try {
        fs.unlinkSync(name);
        // From now on the name may be another run's.
        if (lock.path.equals(name)) lock.set(undefined);
      } finally {
        temporary.letGo();
      }
    },
  };

  /** A call returns the number of an error, and 0 for none. */
  const system = Object.entries(calls).map(([name, call]) => [
    name,
    (/** @type {any[]} */ ...args) => {
      try {
        call(...args);
        return 0;
      } catch (error) {
        const { code } = /** @type {NodeJS.ErrnoException} */ (error);
        if (typeof code !== "string") throw error;
        return ERRORS.indexOf(code.slice(1)) + 1 || ERRORS.indexOf("IO") + 1;
      }
    },
  ]);
  const { exports } = new WebAssembly.Instance(module, { wasi_snapshot_preview1: Object.fromEntries(system) });
  memory = /** @type {WebAssembly.Memory} */ (exports.memory);
  try {
    /** @type {() => void} */ (exports._start)();
    return 0;
  } catch (error) {
    if (error instanceof Exit) return error.code;
    throw error;
  }
}
