// The test function of this suite: gives each file a VS Code server with a fresh profile and the packed extension in
// it, and each test a repository and a window. A test that fails leaves a picture and the logs, and says where.
import { copyFileSync, cpSync, mkdirSync, rmSync, writeFileSync } from 'node:fs'
import path from 'node:path'
import { chromium, type Browser } from 'playwright-core'
import { inject, test as plain } from 'vitest'
import { findChromium, repository as repositoryFolder } from '../../../scripts/system.mjs'
import { installVsix, makeProfile, quietSettings, startServer, type Server } from '../../../scripts/vscode/server.mjs'
import { stopAll } from './commandLine.js'
import { makeRepository, type Repository } from './repository.js'
import { makeTestHome, type TestHome } from './testHome.js'
import { Workbench, outFolder } from './workbench.js'

const chromiumFlags = [
  '--no-sandbox',
  '--disable-gpu',
  '--disable-quic',
  '--no-first-run',
  '--disable-background-networking',
  '--disable-component-update',
  '--disable-sync',
]

/** Starts the system's Chromium without a display. */
export const launchBrowser = (): Promise<Browser> =>
  chromium.launch({ executablePath: findChromium() ?? '/usr/bin/chromium', headless: true, args: chromiumFlags })

/** A window that fits the pictures of the README. */
export const viewport = { width: 1280, height: 800 }

interface FileOptions {
  /** false: folders open in Restricted Mode until trusted. */
  trust?: boolean
  /** User settings on top of the quiet ones. */
  settings?: Record<string, unknown>
  /** Added to the environment of the server and of the extension host. */
  env?: (home: TestHome) => NodeJS.ProcessEnv
  /** Installs the extension of test/fixtures/sample-extension too, which uses ours. */
  sample?: boolean
}

interface FileFixtures {
  /** Where all of this file lives on disk. */
  home: TestHome
  server: Server
  browser: Browser
}

interface TestFixtures {
  /** Made for this test, with one commit. */
  repository: Repository
  /** A window on the repository, ready for use, in a browser context of its own (state of VS Code's web client is per context). */
  workbench: Workbench
}

let repositories = 0

/** A test function for one file; call it once per file. */
export function vscodeTest({ trust = true, settings = {}, env = () => ({}), sample = false }: FileOptions = {}) {
  return plain.extend<{ $file: FileFixtures; $test: TestFixtures }>({
    home: [
      async ({}, use) => {
        const home = makeTestHome()
        await use(home)
        home.remove()
      },
      { scope: 'file' },
    ],
    server: [
      async ({ home }, use) => {
        makeProfile(home.profile, { ...quietSettings, ...settings })
        const whole = { ...home.env, ...env(home) }
        if (sample) addSampleExtension(home.profile)
        installVsix(inject('vscode'), home.profile, inject('vsix'), whole)
        const server = await startServer(inject('vscode'), { profile: home.profile, trust, env: whole })
        await use(server)
        await server.stop()
      },
      { scope: 'file' },
    ],
    browser: [
      async ({}, use) => {
        const browser = await launchBrowser()
        await use(browser)
        await browser.close()
      },
      { scope: 'file' },
    ],
    repository: async ({ home }, use) => {
      repositories += 1
      await use(makeRepository(path.join(home.folder, `repository-${repositories}`)))
    },
    workbench: async ({ home, server, browser, repository, task }, use) => {
      const context = await browser.newContext({ viewport })
      const workbench = new Workbench(await context.newPage(), server)
      const said: string[] = []
      workbench.page.on('console', (message) => said.push(`${message.type()}: ${message.text()}`))
      try {
        await workbench.open(repository.folder)
        await use(workbench)
      } finally {
        const failed = task.result?.state !== 'pass'
        if (failed) await keepEvidence(task.name, workbench, said)
        await context.close()
        // What it left at work would hold the places of the next try and of the next test.
        if (failed) await stopAll(home, repository).catch((error: unknown) => console.error(error))
      }
    },
  })
}

/** Before anything else is installed: VS Code takes up by itself what lies in a folder of extensions it has never seen. */
export function addSampleExtension(profile: string): void {
  const sample = path.join(repositoryFolder, 'test/fixtures/sample-extension')
  cpSync(sample, path.join(profile, 'ext/coxswain-tests.sample-0.0.1'), { recursive: true })
}

/** What a failed test leaves to look at. */
async function keepEvidence(name: string, workbench: Workbench, said: string[]): Promise<void> {
  const folder = path.join(outFolder, name.replace(/\W+/g, '-').slice(0, 80))
  rmSync(folder, { recursive: true, force: true })
  mkdirSync(folder, { recursive: true })
  await workbench.page.screenshot({ path: path.join(folder, 'window.png') })
  copyFileSync(workbench.server.log, path.join(folder, 'server.log'))
  for (const log of workbench.server.logs('exthost')) {
    copyFileSync(log, path.join(folder, path.relative(workbench.server.profile, log).replaceAll('/', '_')))
  }
  writeFileSync(path.join(folder, 'console.log'), said.join('\n'))
  console.error(`"${name}" failed; a picture of its window and its logs: ${folder}`)
}
