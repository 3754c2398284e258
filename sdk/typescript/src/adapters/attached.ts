/** What came along with a message, as models take it. */
import type { Attachment } from "../attachment.ts";

/** Bytes of a text that came as a file and is read to the model, and of an image that it is shown. */
const mostText = 64 << 10;
const mostImage = 5 << 20;

/** What models look at; none takes them all, but all know these. */
const imageTypes = new Set(["image/png", "image/jpeg", "image/gif", "image/webp"]);

/** An image that came along. */
export interface Image {
  filename: string;
  mediaType: string;
  /** The image in base64. */
  data: string;
}

/** What a message says together with its files. */
export interface Words {
  /** Texts are in it; of images, and of files that nobody can read here, that they came. */
  all: string;
  /** The same without the images. */
  withoutImages: string;
  images: Image[];
}

export async function readWords(text: string, files: readonly Attachment[], signal: AbortSignal): Promise<Words> {
  const words: Words = { all: text, withoutImages: text, images: [] };
  for (const file of files) {
    const type = typeOf(file);
    if (imageTypes.has(type) && file.size <= mostImage) {
      words.images.push({ filename: file.filename, mediaType: type, data: Buffer.from(await file.bytes({ signal })).toString("base64") });
      words.all = join(words.all, mention(file));
    } else {
      const said = isText(type) && file.size <= mostText ? `The file ${JSON.stringify(file.filename)}:\n${await file.text({ signal })}` : mention(file);
      words.all = join(words.all, said);
      words.withoutImages = join(words.withoutImages, said);
    }
  }
  return words;
}

function typeOf({ contentType }: Attachment): string {
  return (contentType.split(";")[0] ?? "").trim().toLowerCase();
}

function isText(type: string): boolean {
  return type.startsWith("text/") || type === "application/json" || type === "application/xml";
}

function mention(file: Attachment): string {
  return `The file ${JSON.stringify(file.filename)} (${typeOf(file)}, ${file.size} bytes) came along.`;
}

function join(text: string, more: string): string {
  return text ? `${text}\n\n${more}` : more;
}
