// The real agents, at their pinned versions: without them these tests fail rather than skip.
import { installAgents } from '../../scripts/installAgents.mjs'

export default async function setup(): Promise<void> {
  await installAgents()
}
