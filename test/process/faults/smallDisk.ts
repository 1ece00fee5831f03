// A disk that is really full: a small file system of its own in memory, where this user may mount one. Elsewhere every
// write of this process fails as on a full disk, which leaves the keeper out.
import { execFileSync } from 'node:child_process'
import { rmSync, statfsSync, truncateSync, writeFileSync, appendFileSync } from 'node:fs'
import { join } from 'node:path'
import { failFiles, type Failing } from './failingFiles'

export class SmallDisk {
  readonly isReal: boolean
  private failing: Failing | undefined

  /** Mounts over `path`, an existing empty folder. */
  constructor(
    private readonly path: string,
    kilobytes: number,
  ) {
    this.isReal = mounted(path, kilobytes)
  }

  private get filler(): string {
    return join(this.path, 'filler')
  }

  /** Nothing more fits; `leaving`: but so many bytes, in whole pages. */
  fill(leaving = 0): void {
    if (!this.isReal) {
      this.failing = failFiles(this.path, 'ENOSPC', 1, Infinity)
      return
    }
    const { bavail, bsize } = statfsSync(this.path)
    writeFileSync(this.filler, Buffer.alloc(Math.max(0, bavail * bsize - leaving)), { mode: 0o600 })
    if (leaving > 0) return
    for (;;) {
      try {
        appendFileSync(this.filler, 'x'.repeat(512))
      } catch {
        return
      }
    }
  }

  free(): void {
    this.failing?.stop()
    this.failing = undefined
    if (!this.isReal) return
    truncateSync(this.filler, 0)
    rmSync(this.filler)
  }

  remove(): void {
    this.failing?.stop()
    if (this.isReal) execFileSync('umount', ['--lazy', this.path])
  }
}

function mounted(path: string, kilobytes: number): boolean {
  try {
    execFileSync('mount', ['-t', 'tmpfs', '-o', `size=${kilobytes}k,mode=700`, 'tmpfs', path], { stdio: 'ignore' })
    return true
  } catch {
    return false
  }
}
