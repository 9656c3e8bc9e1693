// SPDX-License-Identifier: Apache-2.0
// Files of pictures, decoded: PGM and PPM here, PNG and JPEG by the browser, which gets nothing of
// them but their pixels.

const SIDE_MAX = 16384;
const PIXELS_MAX = 1 << 26;

/** Next token of a header, comments passed over: [text, end]. */
function token(bytes, at) {
  const isSpace = (byte) => byte === 32 || (byte >= 9 && byte <= 13);
  for (; at < bytes.length; ++at) {
    if (bytes[at] === 35) while (at < bytes.length && bytes[at] !== 10) ++at;
    else if (!isSpace(bytes[at])) break;
  }
  let text = "";
  while (at < bytes.length && !isSpace(bytes[at]) && text.length < 16) {
    text += String.fromCharCode(bytes[at++]);
  }
  return [text, at];
}

/** PGM or PPM, plain or raw, with the numbers of the file; null for what is neither. Throws. */
export function decodeNetpbm(bytes) {
  const kind = String.fromCharCode(bytes[0] ?? 0, bytes[1] ?? 0);
  if (!["P2", "P3", "P5", "P6"].includes(kind)) return null;
  let at = 2;
  const number = () => {
    const [text, end] = token(bytes, at);
    at = end;
    if (!/^\d+$/.test(text)) throw new Error(`a ${kind} picture that is cut off or damaged`);
    return Number(text);
  };
  const [width, height, white] = [number(), number(), number()];
  if (
    width < 1 ||
    height < 1 ||
    width > SIDE_MAX ||
    height > SIDE_MAX ||
    width * height > PIXELS_MAX ||
    white < 1 ||
    white > 255
  ) {
    throw new Error(`a picture of ${width} x ${height} with ${white} as white is not read`);
  }
  const channels = kind === "P3" || kind === "P6" ? 3 : 1;
  const count = width * height * channels;
  if (kind === "P2" || kind === "P3") {
    const pixels = new Uint8Array(count);
    for (let i = 0; i < count; ++i) {
      pixels[i] = number();
      if (pixels[i] > white) throw new Error("a picture with numbers beyond its white");
    }
    return { width, height, channels, pixels };
  }
  const pixels = bytes.subarray(at + 1, at + 1 + count);
  if (pixels.length < count) throw new Error("a picture that is cut off");
  return { width, height, channels, pixels };
}

const isPng = (bytes) => [137, 80, 78, 71, 13, 10, 26, 10].every((byte, i) => bytes[i] === byte);
const isJpeg = (bytes) => bytes[0] === 0xff && bytes[1] === 0xd8 && bytes[2] === 0xff;

const joined = (parts) => {
  const made = new Uint8Array(parts.reduce((sum, part) => sum + part.length, 0));
  parts.reduce((at, part) => (made.set(part, at), at + part.length), 0);
  return made;
};

const PIXELS = new Set(["IHDR", "PLTE", "tRNS", "IDAT", "IEND"]);
// With these libpng, and so the command line, makes other numbers of the file's.
const COLOURS = new Set(["gAMA", "cHRM", "iCCP", "cICP", "mDCV", "cLLI"]);

/**
 * What of a PNG says which numbers its pixels have, without what makes a browser turn it or change
 * its colours: {bytes, channels, exact}, exact where the command line reads just these.
 */
export function plainPng(bytes) {
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  const kept = [bytes.subarray(0, 8)];
  // Of the header, which comes first: depth at 24, type of colour at 25 (0 and 4 are grey).
  let exact = bytes[24] <= 8;
  for (let at = 8; at + 12 <= bytes.length;) {
    const end = at + 12 + view.getUint32(at);
    const name = String.fromCharCode(...bytes.subarray(at + 4, at + 8));
    if (end > bytes.length) break;
    if (PIXELS.has(name)) kept.push(bytes.subarray(at, end));
    exact &&= !COLOURS.has(name);
    at = end;
  }
  return { bytes: joined(kept), channels: bytes[25] === 0 || bytes[25] === 4 ? 1 : 3, exact };
}

const isFrame = (mark) => mark >= 0xc0 && mark <= 0xcf && ![0xc4, 0xc8, 0xcc].includes(mark);

/**
 * The same of a JPEG: notes of cameras, by which a browser turns it, and profiles of colours are
 * left out. Never exact: decoders differ in last bits. Throws for other than 1 and 3 channels.
 */
export function plainJpeg(bytes) {
  const kept = [bytes.subarray(0, 2)];
  let channels = 3;
  let at = 2;
  while (at + 4 <= bytes.length && bytes[at] === 0xff) {
    const mark = bytes[at + 1];
    if (mark === 0xff) {
      at++; // marks may be filled up
      continue;
    }
    if (mark === 0xda) break; // from here on there are pixels
    const end = at + 2 + ((bytes[at + 2] << 8) | bytes[at + 3]);
    if (isFrame(mark)) channels = bytes[at + 9];
    // APP0 is JFIF's, APP14 Adobe's, which says how colours are written.
    const isNote = (mark >= 0xe1 && mark <= 0xef && mark !== 0xee) || mark === 0xfe;
    if (!isNote) kept.push(bytes.subarray(at, end));
    at = end;
  }
  if (channels !== 1 && channels !== 3)
    throw new Error(`a JPEG of ${channels} channels, expected 1 or 3`);
  kept.push(bytes.subarray(at));
  return { bytes: joined(kept), channels, exact: false };
}

/** RGBA of a bitmap, transparency laid over black; whether there was any. */
function pixelsOf(bitmap) {
  const { width, height } = bitmap;
  const canvas = document.createElement("canvas");
  [canvas.width, canvas.height] = [width, height];
  const context = canvas.getContext("2d", { willReadFrequently: true });
  context.drawImage(bitmap, 0, 0);
  const { data } = context.getImageData(0, 0, width, height);
  let isClear = false;
  for (let i = 3; i < data.length && !isClear; i += 4) isClear = data[i] !== 255;
  if (!isClear) return { data, isClear };
  context.globalCompositeOperation = "destination-over";
  context.fillStyle = "#000";
  context.fillRect(0, 0, width, height);
  return { data: context.getImageData(0, 0, width, height).data, isClear };
}

/**
 * {picture, exact}: `exact` where its pixels are surely those that the command line reads. Throws
 * an Error of one line.
 */
export async function decodePicture(file) {
  const bytes = new Uint8Array(await file.arrayBuffer());
  const read = decodeNetpbm(bytes);
  if (read) return { picture: read, exact: true };
  const none = new Error(
    `"${file.name ?? "this"}" is no picture that is read here: JPEG, PNG, PGM, PPM`,
  );
  if (!isPng(bytes) && !isJpeg(bytes)) throw none;
  const plain = isPng(bytes) ? plainPng(bytes) : plainJpeg(bytes);
  const type = isPng(bytes) ? "image/png" : "image/jpeg";
  const bitmap = await createImageBitmap(new Blob([plain.bytes], { type }), {
    colorSpaceConversion: "none",
    premultiplyAlpha: "none",
  }).catch(() => {
    throw none;
  });
  const { width, height } = bitmap;
  if (width > SIDE_MAX || height > SIDE_MAX || width * height > PIXELS_MAX)
    throw new Error(`a picture of ${width} x ${height} is too large`);
  const { data, isClear } = pixelsOf(bitmap);
  const { channels } = plain; // those of the file, whatever it shows
  const pixels = new Uint8Array(width * height * channels);
  for (let i = 0, at = 0; i < data.length; i += 4) {
    for (let channel = 0; channel < channels; ++channel) pixels[at++] = data[i + channel];
  }
  return { picture: { width, height, channels, pixels }, exact: plain.exact && !isClear };
}
