// SPDX-License-Identifier: Apache-2.0
// Files of pictures, decoded: PGM and PPM here, the rest by the browser.

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

const isPng = (bytes) => bytes[0] === 0x89 && bytes[1] === 0x50 && bytes[2] === 0x4e;
// Of the header chunk, which comes first: depth at 24, type of colour at 25 (0 and 4 are grey).
const isDeepPng = (bytes) => bytes[24] > 8;
const isGreyPng = (bytes) => bytes[25] === 0 || bytes[25] === 4;

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
 * {picture, exact}: `exact` where its pixels are surely those that the command line reads (a JPEG's
 * may differ in a last bit, by the browser's decoder). Throws an Error of one line.
 */
export async function decodePicture(file) {
  const bytes = new Uint8Array(await file.arrayBuffer());
  const plain = decodeNetpbm(bytes);
  if (plain) return { picture: plain, exact: true };
  let bitmap;
  try {
    bitmap = await createImageBitmap(file, {
      colorSpaceConversion: "none",
      premultiplyAlpha: "none",
    });
  } catch {
    throw new Error(
      `"${file.name ?? "this"}" is no picture that this browser reads: JPEG, PNG, PGM, PPM`,
    );
  }
  const { width, height } = bitmap;
  if (width * height > PIXELS_MAX)
    throw new Error(`a picture of ${width} x ${height} is too large`);
  const { data, isClear } = pixelsOf(bitmap);
  let isGrey = true;
  const pixels = new Uint8Array(width * height * 3);
  for (let i = 0, at = 0; i < data.length; i += 4) {
    isGrey &&= data[i] === data[i + 1] && data[i] === data[i + 2];
    pixels[at++] = data[i];
    pixels[at++] = data[i + 1];
    pixels[at++] = data[i + 2];
  }
  // A grey file has one channel; a coloured one has three, whatever it shows.
  const hasOne = isPng(bytes) ? isGreyPng(bytes) : isGrey;
  const picture = hasOne
    ? { width, height, channels: 1, pixels: pixels.filter((_, i) => i % 3 === 0) }
    : { width, height, channels: 3, pixels };
  return { picture, exact: isPng(bytes) && !isDeepPng(bytes) && !isClear };
}
