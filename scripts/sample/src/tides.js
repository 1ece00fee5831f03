const halfDayMs = 12.42 * 60 * 60 * 1000

/**
 * @typedef {{mean: number, range: number, high: Date}} Tide mean depth and range in metres, and one moment of high water
 */

/**
 * Depth of the water at a moment, as a plain cosine around the mean.
 * @param {Date} when
 * @param {Tide} tide
 * @returns {number} metres
 */
export function depthAt(when, tide) {
  const phase = (2 * Math.PI * (when.getTime() - tide.high.getTime())) / halfDayMs
  return tide.mean + (tide.range / 2) * Math.cos(phase)
}

/**
 * @param {Date} when
 * @param {Tide} tide
 * @param {number} draught metres
 */
export const isAfloat = (when, tide, draught) => depthAt(when, tide) > draught
