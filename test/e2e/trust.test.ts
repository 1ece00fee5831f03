// In a folder nobody has trusted, Coxswain starts no process and says so; trust changes that without a reload.
import { expect } from 'vitest'
import { vscodeTest } from './harness/vscodeTest.js'

const test = vscodeTest({ trust: false })

test('nothing can be started before the folder is trusted', async ({ workbench }) => {
  await workbench.restrictedBanner.waitFor()
  await workbench.showContainer('Coxswain')
  await workbench.sideBar.getByText('Coxswain starts nothing in a folder you have not trusted').waitFor()
  expect(await workbench.offers('Coxswain: New child…')).toBe(false)

  await workbench.trustFolder()
  await workbench.sideBar.getByText('Coxswain starts nothing').waitFor({ state: 'hidden' })
  expect(await workbench.offers('Coxswain: New child…')).toBe(true)
})
