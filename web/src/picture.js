// SPDX-License-Identifier: Apache-2.0
// Pictures become inputs as `commensal infer` makes them (docs/numerics.md: bilinear, half-pixel
// centres, binary32): the same bits for the same pixels. A picture is {width, height, channels,
// pixels}: rows from the top, channels interleaved, 8 bits each.

const f = Math.fround;

function sample(pixels, at, channels, channel, wanted) {
  if (channels === 1) return pixels[at];
  if (wanted === 3) return pixels[at + channel];
  const red = f(f(0.299) * pixels[at]);
  const green = f(f(0.587) * pixels[at + 1]);
  return f(f(red + green) + f(f(0.114) * pixels[at + 2]));
}

function planeOf(picture, channel, wanted) {
  const { width, height, channels, pixels } = picture;
  const values = new Float32Array(width * height);
  for (let i = 0; i < values.length; ++i) {
    values[i] = sample(pixels, i * channels, channels, channel, wanted);
  }
  return { width, height, values };
}

function taps(from, to) {
  const ratio = f(f(from) / f(to));
  const made = [];
  for (let i = 0; i < to; ++i) {
    const place = f(f(f(f(i) + 0.5) * ratio) - 0.5);
    const held = Math.min(Math.max(place, 0), from - 1);
    const low = Math.trunc(held);
    made.push({ low, high: Math.min(low + 1, from - 1), fraction: f(held - low) });
  }
  return made;
}

const between = (a, b, fraction) => f(a + f(f(b - a) * fraction));

/** Of a plane {width, height, values}, by bilinear interpolation. */
export function resizeBilinear(plane, width, height) {
  if (plane.width === width && plane.height === height) return plane;
  const columns = taps(plane.width, width);
  const values = new Float32Array(width * height);
  let at = 0;
  for (const y of taps(plane.height, height)) {
    const top = y.low * plane.width;
    const bottom = y.high * plane.width;
    for (const x of columns) {
      const above = between(plane.values[top + x.low], plane.values[top + x.high], x.fraction);
      const below = between(
        plane.values[bottom + x.low],
        plane.values[bottom + x.high],
        x.fraction,
      );
      values[at++] = between(above, below, y.fraction);
    }
  }
  return { width, height, values };
}

const rounded = (dividend, divisor) =>
  Math.max(1, Math.floor((dividend + Math.floor(divisor / 2)) / divisor));

/** The largest size of the proportions of `shape` that fits into `box`. */
function fitted(shape, box) {
  if (shape.width * box.height > shape.height * box.width) {
    return {
      width: box.width,
      height: Math.min(box.height, rounded(box.width * shape.height, shape.width)),
    };
  }
  return {
    width: Math.min(box.width, rounded(box.height * shape.width, shape.height)),
    height: box.height,
  };
}

function middleOf(plane, kept) {
  const left = Math.floor((plane.width - kept.width) / 2);
  const top = Math.floor((plane.height - kept.height) / 2);
  const values = new Float32Array(kept.width * kept.height);
  for (let y = 0; y < kept.height; ++y) {
    const from = (top + y) * plane.width + left;
    values.set(plane.values.subarray(from, from + kept.width), y * kept.width);
  }
  return { ...kept, values };
}

function betweenBars(plane, whole) {
  const values = new Float32Array(whole.width * whole.height);
  const left = Math.floor((whole.width - plane.width) / 2);
  const top = Math.floor((whole.height - plane.height) / 2);
  for (let y = 0; y < plane.height; ++y) {
    values.set(
      plane.values.subarray(y * plane.width, (y + 1) * plane.width),
      (top + y) * whole.width + left,
    );
  }
  return { ...whole, values };
}

function resized(rule, plane, wanted) {
  const own = { width: plane.width, height: plane.height };
  const to = (from, size) => resizeBilinear(from, size.width, size.height);
  if (rule === "crop") return to(middleOf(plane, fitted(wanted, own)), wanted);
  if (rule === "pad") return betweenBars(to(plane, fitted(own, wanted)), wanted);
  return to(plane, wanted);
}

const isAlike = (own, wanted) =>
  2 * Math.abs(own.width * wanted.height - own.height * wanted.width) <=
  Math.max(wanted.width, wanted.height);

const threeOf = (value, otherwise) => {
  if (value === undefined || value === null) return [otherwise, otherwise, otherwise];
  const list = Array.isArray(value) ? value : [value];
  return list.length >= 3 ? list.slice(0, 3) : [list[0], list[0], list[0]];
};

/**
 * What of a card's `picture` and the input's declared shape follows: {height, width, channels,
 * layout, resize, convert, mean, scale, bgr}, where a pixel's number is (value - mean) / scale.
 * What neither says is 0, and the picture's own. Without a card it is what `commensal infer` does
 * without options. Throws an Error of one line for an input that no picture fills.
 */
export function ruleOf(card, shape) {
  const rule = card ?? {};
  if (shape.length !== 4 || shape[0] > 1 || shape[0] === 0)
    throw new Error(`a picture fills [1,C,H,W] or [1,H,W,C], not [${shape}]`);
  const isPicture = (n) => n === 1 || n === 3 || n < 0;
  const fits = isPicture(shape[1]) || !isPicture(shape[3]) || !card ? "NCHW" : "NHWC";
  const layout = rule.layout || fits;
  const [c, h, w] =
    layout === "NCHW" ? [shape[1], shape[2], shape[3]] : [shape[3], shape[1], shape[2]];
  if (!isPicture(c) || h === 0 || w === 0)
    throw new Error(`a picture has 1 or 3 channels and some size, as ${layout} this is [${shape}]`);
  const [height, width] = rule.size ?? [0, 0];
  const divisor = rule.scale || 1;
  const scaled = (list) => list.map((value) => f(value * divisor));
  return {
    height: h > 0 ? h : height,
    width: w > 0 ? w : width,
    channels: c > 0 ? c : rule.colour ? (rule.colour === "gray" ? 1 : 3) : 0,
    layout,
    resize: rule.resize || "refuse",
    convert: Boolean(rule.colour),
    bgr: rule.colour === "BGR",
    mean: scaled(threeOf(rule.mean, 0)),
    scale: scaled(threeOf(rule.std, 1)),
  };
}

function checkFit(picture, wanted, channels, rule) {
  if (picture.channels !== channels && !rule.convert) {
    throw new Error(
      `the picture is ${picture.channels === 1 ? "grey" : "coloured"}, the model wants ` +
        `${channels === 1 ? "grey" : "colour"}: its card has no rule for others`,
    );
  }
  if (rule.resize === "refuse" && !isAlike(picture, wanted)) {
    throw new Error(
      `the picture is ${picture.width} x ${picture.height}, the model wants ` +
        `${wanted.width} x ${wanted.height}: its card has no rule for other proportions`,
    );
  }
}

/** {shape, data: Float32Array} of a picture by ruleOf()'s rule. Throws an Error of one line. */
export function pictureTensor(picture, rule) {
  const height = rule.height || picture.height;
  const width = rule.width || picture.width;
  const channels = rule.channels || picture.channels;
  checkFit(picture, { width, height }, channels, rule);
  const count = width * height;
  const data = new Float32Array(count * channels);
  for (let channel = 0; channel < channels; ++channel) {
    const source = rule.bgr && channels === 3 ? 2 - channel : channel;
    const whole = planeOf(picture, source, channels);
    const plane = resized(rule.resize, whole, { width, height });
    for (let i = 0; i < count; ++i) {
      const at = rule.layout === "NCHW" ? channel * count + i : i * channels + channel;
      data[at] = f(f(plane.values[i] - rule.mean[channel]) / rule.scale[channel]);
    }
  }
  const shape =
    rule.layout === "NCHW" ? [1, channels, height, width] : [1, height, width, channels];
  return { shape, data };
}
