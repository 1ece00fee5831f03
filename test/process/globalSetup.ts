// Builds what tests start as files of their own, once: the keeper and the worker that reads untrusted content.
import { build } from 'esbuild'

export default async function setup(): Promise<void> {
  await build({
    entryPoints: { keeper: 'src/process/keeper.ts', contentWorker: 'src/verification/contentWorker.ts' },
    outdir: 'dist',
    bundle: true,
    platform: 'node',
    format: 'cjs',
    target: 'node20',
    logLevel: 'warning',
  })
}
