// What a person sees first after installing the package.
import { expect } from 'vitest'
import { vscodeTest } from './harness/vscodeTest.js'

const test = vscodeTest()

test('the activity bar has a Coxswain container', async ({ workbench }) => {
  const container = workbench.viewContainer('Coxswain')
  await container.waitFor()
  await container.click()
  expect(await workbench.sideBar.innerText()).toMatch(/coxswain/i)
})
