// The real agents, at their pinned versions: without them these tests fail rather than skip. And what keeps them, built.
import { installAgents } from '../../scripts/installAgents.mjs'
import build from '../process/globalSetup'

export default async function setup(): Promise<void> {
  await installAgents()
  await build()
}
