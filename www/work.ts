/** Work in a web worker: both ends of it. A worker does one job, and ends with it. */

type Message<Progress, Answer> =
  | { type: "progress"; progress: Progress }
  | { type: "answer"; answer: Answer }
  | { type: "error"; code: unknown; message: string };

export interface WorkOptions<Progress> {
  /** Ends the worker. The promise then rejects with the signal's reason. */
  signal?: AbortSignal;
  onProgress?: (progress: Progress) => void;
  /** What of the job moves to the worker rather than being copied. */
  transfer?: Transferable[];
}

/** In the page: hands a worker its job, and resolves with the answer. Errors of the package keep their code. */
export function work<Job, Progress, Answer>(
  worker: Worker,
  job: Job,
  { signal, onProgress, transfer = [] }: WorkOptions<Progress> = {},
): Promise<Answer> {
  return new Promise<Answer>((resolve, reject) => {
    const abort = () => reject(signal!.reason);
    if (signal?.aborted) return abort();
    signal?.addEventListener("abort", abort);
    worker.addEventListener("message", ({ data }: MessageEvent<Message<Progress, Answer>>) => {
      if (data.type === "progress") onProgress?.(data.progress);
      else if (data.type === "answer") resolve(data.answer);
      else reject(Object.assign(new Error(data.message), { code: data.code }));
    });
    worker.addEventListener("error", ({ message }) => reject(new Error(message || "the worker could not be started")));
    worker.postMessage(job, transfer);
  }).finally(() => worker.terminate());
}

/** In the worker: does the job that comes. Yielding to the event loop is the job's own business. */
export function onJob<Job, Progress, Answer>(
  run: (job: Job, report: (progress: Progress) => void) => Promise<{ answer: Answer; transfer?: Transferable[] }>,
) {
  const post = (message: Message<Progress, Answer>, transfer: Transferable[] = []) =>
    self.postMessage(message, { transfer });
  self.addEventListener("message", async ({ data }: MessageEvent<Job>) => {
    try {
      const { answer, transfer } = await run(data, (progress) => post({ type: "progress", progress }));
      post({ type: "answer", answer }, transfer);
    } catch (error) {
      const { code, message = String(error) } = Object(error);
      post({ type: "error", code, message });
    }
  });
}
