import { reasonOf } from "./errors.ts";

/** What a file may be made of. */
export type FileContent = string | Uint8Array | Blob | ReadableStream<Uint8Array> | AsyncIterable<Uint8Array>;

/** A file as frames and answers name it. */
export interface FileInfo {
  file_id: string;
  filename: string;
  content_type: string;
  size: number;
  url: string;
}

/** A file that the caller sent along. Its name is for people: nothing is sure about it. */
export class Attachment {
  readonly fileId: string;
  readonly filename: string;
  readonly contentType: string;
  readonly size: number;
  /** Lets whoever has it download the file, until the turn's deadline at least. */
  readonly url: string;

  constructor(info: FileInfo) {
    this.fileId = info.file_id;
    this.filename = info.filename;
    this.contentType = info.content_type;
    this.size = info.size;
    this.url = info.url;
  }

  /** Downloads the file as it is read; fails when it does not have the size that it should. */
  async *stream(options: { signal?: AbortSignal } = {}): AsyncGenerator<Uint8Array, void, undefined> {
    const name = JSON.stringify(this.filename);
    let response: Response;
    try {
      response = await fetch(this.url, options.signal ? { signal: options.signal } : {});
    } catch (error) {
      options.signal?.throwIfAborted();
      throw new Error(`download ${name}: ${reasonOf(error)}`); // without the link, which is a permission
    }
    if (response.status !== 200) {
      await response.body?.cancel();
      throw new Error(`download ${name}: the server answered ${response.status}`);
    }
    let left = this.size;
    for await (const piece of (response.body ?? []) as AsyncIterable<Uint8Array>) {
      left -= piece.length;
      if (left < 0) throw new Error(`download ${name}: the file is longer than the message says`);
      yield piece;
    }
    if (left > 0) throw new Error(`download ${name}: the file broke off`);
  }

  /** The whole file. Look at `size` first: `stream` needs less memory. */
  async bytes(options: { signal?: AbortSignal } = {}): Promise<Uint8Array> {
    const pieces: Uint8Array[] = [];
    for await (const piece of this.stream(options)) pieces.push(piece);
    return Buffer.concat(pieces);
  }

  /** The whole file as UTF-8. */
  async text(options: { signal?: AbortSignal } = {}): Promise<string> {
    return new TextDecoder().decode(await this.bytes(options));
  }
}

/** Content as fetch sends it. `duplex` is what fetch wants with streams. */
export function uploadBody(content: FileContent): { body: NonNullable<RequestInit["body"]>; duplex?: "half" } {
  if (typeof content === "string" || content instanceof Blob) return { body: content };
  if (content instanceof Uint8Array) return { body: content as Uint8Array<ArrayBuffer> };
  const stream = content instanceof ReadableStream ? content : ReadableStream.from(content);
  return { body: stream as ReadableStream, duplex: "half" };
}
