// A moving picture of a page: the browser's own screencast, made into a GIF by ffmpeg.
import { execFileSync } from 'node:child_process'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import type { Page } from 'playwright-core'

/** How long the last picture stands before the loop begins anew, in seconds. */
const restSeconds = 3
/** Flat colours of a window need few; dithering would make every frame differ from the last. */
const asGif =
  'fps=8,scale=1000:-1:flags=lanczos,split[a][b];[a]palettegen=max_colors=96:stats_mode=diff[p];[b][p]paletteuse=dither=none:diff_mode=rectangle'

/**
 * Films what is done to a page, at its own pace.
 * @param file the GIF to write; needs ffmpeg on PATH
 */
export async function film(page: Page, file: string, act: () => Promise<void>): Promise<void> {
  const folder = mkdtempSync(path.join(tmpdir(), 'film-'))
  try {
    const frames = await record(page, folder, act)
    const list = frames.map(({ name, at }, n) => {
      const next = frames[n + 1]
      return `file '${name}'\nduration ${next === undefined ? restSeconds : next.at - at}`
    })
    // The format counts a file's duration only when another follows it.
    writeFileSync(path.join(folder, 'list'), [...list, `file '${frames.at(-1)?.name ?? ''}'`, ''].join('\n'))
    execFileSync('ffmpeg', ['-y', '-f', 'concat', '-i', 'list', '-vf', asGif, '-loop', '0', file], {
      cwd: folder,
      stdio: 'pipe',
    })
  } finally {
    rmSync(folder, { recursive: true, force: true })
  }
}

interface Frame {
  readonly name: string
  /** Seconds since 1970. */
  readonly at: number
}

async function record(page: Page, folder: string, act: () => Promise<void>): Promise<readonly Frame[]> {
  const frames: Frame[] = []
  const session = await page.context().newCDPSession(page)
  session.on('Page.screencastFrame', ({ data, metadata, sessionId }) => {
    const name = `${String(frames.length).padStart(5, '0')}.png`
    writeFileSync(path.join(folder, name), Buffer.from(data, 'base64'))
    frames.push({ name, at: metadata.timestamp ?? Date.now() / 1000 })
    session.send('Page.screencastFrameAck', { sessionId }).catch(() => undefined)
  })
  await session.send('Page.startScreencast', { format: 'png' })
  try {
    await act()
  } finally {
    await session.detach()
  }
  if (frames.length === 0) throw new Error('the browser sent no picture')
  return frames
}
