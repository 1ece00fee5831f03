import { defineConfig } from 'vitest/config'

// unit: pure rooms, no process, no disk beyond a temporary folder. process: real keepers, real children, real git.
// host: mocha suites inside a real extension host. e2e: a real VS Code in a real browser, the extension as packed.
// agents: the real agents at their pinned versions against loopback model servers.
// Real processes have deadlines, and a shared machine can miss one: in CI such a test is tried a second time, and its line
// then says so. What fails twice fails.
const retry = process.env['CI'] === 'true' ? 1 : 0

export default defineConfig({
  test: {
    projects: [
      { test: { name: 'unit', include: ['test/unit/**/*.test.ts'], testTimeout: 20_000, sequence: { groupOrder: 0 } } },
      {
        test: {
          name: 'process',
          retry,
          sequence: { groupOrder: 1 },
          include: ['test/process/**/*.test.ts'],
          testTimeout: 60_000,
          hookTimeout: 60_000,
          globalSetup: ['test/process/globalSetup.ts'],
          maxWorkers: 2,
        },
      },
      {
        test: {
          name: 'host',
          retry,
          sequence: { groupOrder: 2 },
          include: ['test/host/**/*.test.ts'],
          globalSetup: ['test/host/globalSetup.ts'],
        },
      },
      {
        test: {
          name: 'e2e',
          retry,
          sequence: { groupOrder: 3 },
          include: ['test/e2e/**/*.test.ts'],
          // Each of its many steps has a limit of its own.
          testTimeout: 240_000,
          hookTimeout: 120_000,
          expect: { poll: { timeout: 30_000 } },
          globalSetup: ['test/e2e/harness/globalSetup.ts'],
          maxWorkers: 2,
        },
      },
      {
        test: {
          name: 'agents',
          retry,
          sequence: { groupOrder: 5 },
          include: ['test/agents/**/*.test.ts'],
          testTimeout: 60_000,
          hookTimeout: 60_000,
          globalSetup: ['test/agents/globalSetup.ts'],
          maxWorkers: 2,
        },
      },
      {
        test: {
          name: 'benchPanel',
          sequence: { groupOrder: 5 },
          include: ['bench/*.bench.ts'],
          testTimeout: 300_000,
          hookTimeout: 120_000,
          expect: { poll: { timeout: 30_000 } },
          globalSetup: ['test/e2e/harness/globalSetup.ts'],
        },
      },
      {
        test: {
          name: 'screenshots',
          sequence: { groupOrder: 4 },
          include: ['test/e2e/pictures/*.pictures.ts'],
          testTimeout: 300_000,
          hookTimeout: 120_000,
          expect: { poll: { timeout: 30_000 } },
          globalSetup: ['test/e2e/harness/globalSetup.ts'],
        },
      },
    ],
  },
})
