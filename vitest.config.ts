import { defineConfig } from 'vitest/config'

// unit: pure rooms, no process, no disk beyond a temporary folder. process: real keepers, real children, real git.
export default defineConfig({
  test: {
    projects: [
      { test: { name: 'unit', include: ['test/unit/**/*.test.ts'], testTimeout: 20_000 } },
      {
        test: {
          name: 'process',
          include: ['test/process/**/*.test.ts'],
          testTimeout: 60_000,
          hookTimeout: 60_000,
          globalSetup: ['test/process/globalSetup.ts'],
          maxWorkers: 2,
        },
      },
    ],
  },
})
