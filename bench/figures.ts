// How the benches print and sum up what they measured.

/** One line: what was measured, then its figures, three digits each. */
export function say(name: string, figures: Record<string, number | string>): void {
  const shown = Object.entries(figures).map(
    ([key, value]) => `${key} ${typeof value === 'number' ? round(value) : value}`,
  )
  console.log(`${name.padEnd(36)} ${shown.join('  ')}`)
}

export const round = (value: number): number => (value >= 100 ? Math.round(value) : Number(value.toPrecision(3)))

/** The value below which `part` (0 to 1) of them lie; NaN of none. */
export function quantile(values: readonly number[], part: number): number {
  const sorted = [...values].sort((a, b) => a - b)
  return sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * part))] ?? NaN
}

export const median = (values: readonly number[]): number => quantile(values, 0.5)
