// How long something took or has been going on, in the few words a row or a header has room for. Shared by the host and
// the webview so that both tick alike.

/** Milliseconds → "0s", "41s", "3m", "1h 05m", "2d 3h". Negative counts as nothing. */
export function shortDuration(ms: number): string {
  const seconds = Math.max(0, Math.floor(ms / 1000))
  if (seconds < 60) return `${seconds}s`
  const minutes = Math.floor(seconds / 60)
  if (minutes < 60) return `${minutes}m`
  const hours = Math.floor(minutes / 60)
  if (hours < 24) return `${hours}h ${String(minutes % 60).padStart(2, '0')}m`
  return `${Math.floor(hours / 24)}d ${hours % 24}h`
}

/** Milliseconds → "0.4s", "12.3s", "2m 05s": for things that are over. */
export function exactDuration(ms: number): string {
  const safe = Math.max(0, ms)
  if (safe < 60_000) return `${(Math.floor(safe / 100) / 10).toFixed(1)}s`
  const seconds = Math.floor(safe / 1000)
  const minutes = Math.floor(seconds / 60)
  if (minutes < 60) return `${minutes}m ${String(seconds % 60).padStart(2, '0')}s`
  return shortDuration(safe)
}
