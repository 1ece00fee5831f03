// Builds what tests start as files of their own, once: the command line, the keeper, the demo agent and the worker that
// reads untrusted content.
import { build } from 'esbuild'

export default async function setup(): Promise<void> {
  await build({
    entryPoints: {
      cli: 'src/cli.ts',
      keeper: 'src/process/keeper.ts',
      contentWorker: 'src/verification/contentWorker.ts',
      demoAgent: 'src/demo/agent.ts',
    },
    outdir: 'dist',
    bundle: true,
    platform: 'node',
    format: 'cjs',
    target: 'node20',
    banner: { js: '#!/usr/bin/env node' },
    logLevel: 'warning',
  })
}
