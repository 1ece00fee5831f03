// Jobs of which there is one at a time under a name: asked for again while it runs, it is the same job. Knows no editor.

export class OneAtATime<T> {
  private readonly running = new Map<string, Promise<T>>()

  run(name: string, job: () => Promise<T>): Promise<T> {
    const known = this.running.get(name)
    if (known !== undefined) return known
    const started = job().finally(() => this.running.delete(name))
    this.running.set(name, started)
    return started
  }
}
