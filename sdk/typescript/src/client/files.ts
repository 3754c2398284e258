import { uploadBody, type FileContent } from "../attachment.ts";
import { BeeosError, reasonOf, UnreachableError } from "../errors.ts";
import type { JsonObject } from "../frame.ts";
import { readError, readText } from "../http.ts";
import { apiPath, type CallOptions, type Transport } from "./transport.ts";

/** A part of an answer that points to a file. */
export interface FilePart {
  type: "file";
  url: string;
  mime_type: string;
  name?: string;
  size?: number;
  file_id?: string;
}

/** A file of yours that goes along with a message; `client.files.upload` makes it. */
export interface AttachedFile {
  fileId: string;
  filename?: string;
  contentType?: string;
}

/** What a request says of the files that go along. */
export function nameFiles(attached: readonly AttachedFile[] | undefined): JsonObject[] | undefined {
  return attached?.map(({ fileId, filename, contentType }) => ({ file_id: fileId, filename, content_type: contentType }));
}

/** A file on the server. */
export interface File {
  fileId: string;
  filename: string;
  contentType: string;
  size: number;
  /** A permission by itself, for an hour; empty until the file is uploaded. */
  downloadUrl: string;
}

interface RawFile {
  file_id: string;
  filename: string;
  content_type: string;
  size?: number;
  download_url?: string;
}

/** Files of one's own. */
export class Files {
  readonly #transport: Transport;

  constructor(transport: Transport) {
    this.#transport = transport;
  }

  /** Sends a file to the server, which keeps it for a while. */
  async upload(filename: string, contentType: string, content: FileContent, options: CallOptions = {}): Promise<File> {
    const body = { filename, content_type: contentType };
    const link = await this.#transport.call<{ upload_url: string }>({ ...options, method: "POST", path: "/api/v1/files/presign-upload", body });
    const request = { method: "PUT", headers: { "Content-Type": contentType }, ...uploadBody(content), ...(options.signal && { signal: options.signal }) };
    const response = await this.#fetch(link.upload_url, request, options);
    const text = await readText(response);
    if (!response.ok) throw readError(text, response) ?? new Error(`the server answered ${response.status}`);
    return readFile((JSON.parse(text) as { data: RawFile }).data);
  }

  /** Looks up a file. */
  async get(fileId: string, options: CallOptions = {}): Promise<File> {
    return readFile(await this.#transport.call<RawFile>({ ...options, path: apiPath("files", fileId) }));
  }

  /** Downloads a file. */
  async download(fileId: string, options: CallOptions = {}): Promise<Response> {
    const file = await this.get(fileId, options);
    if (!file.downloadUrl) throw new BeeosError("not_found", "the file has not been uploaded yet");
    const response = await this.#fetch(file.downloadUrl, options.signal ? { signal: options.signal } : {}, options);
    if (response.ok) return response;
    throw readError(await readText(response), response) ?? new Error(`the server answered ${response.status}`);
  }

  async #fetch(link: string, request: RequestInit, options: CallOptions): Promise<Response> {
    try {
      return await fetch(link, request);
    } catch (error) {
      options.signal?.throwIfAborted();
      throw new UnreachableError(this.#transport.url, new Error(reasonOf(error))); // without the link, which is a permission
    }
  }
}

function readFile(raw: RawFile): File {
  const { file_id: fileId, filename, content_type: contentType, size = 0, download_url: downloadUrl = "" } = raw;
  return { fileId, filename, contentType, size, downloadUrl };
}
