// Builds dist/keeper.js once for every test that starts a real keeper.
import { build } from 'esbuild'

export default async function setup(): Promise<void> {
  await build({
    entryPoints: { keeper: 'src/process/keeper.ts' },
    outdir: 'dist',
    bundle: true,
    platform: 'node',
    format: 'cjs',
    target: 'node20',
    logLevel: 'warning',
  })
}
