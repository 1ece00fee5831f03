// The keeper's side of the socket: any number may knock, the highest epoch is served, everyone else is told why not.
// It rings ("grew") at most once per loop turn and never piles up notices for a host that does not read.
import { chmodSync, rmSync } from 'node:fs'
import { createServer, type Server, type Socket } from 'node:net'
import { isObject, parseObject, type Fields } from '../json'
import { largestWireLine, longestSocketPath, WireReader, wireLine, wireVersions } from '../wire'
import type { KeeperMessage, Offsets } from '../wire'

const helloMs = 5_000
const waitingBytesMax = 64 * 1024

export interface HostEvents {
  /** A host was accepted: what it needs to begin. */
  readonly welcome: () => Omit<Extract<KeeperMessage, { t: 'welcome' }>, 't' | 'version'>
  readonly came: (epoch: number) => void
  readonly left: () => void
  /** A message of the host that owns this keeper. Only its `t` has been looked at. */
  readonly said: (message: Fields, answer: (message: KeeperMessage) => void) => void
  readonly totals: () => Offsets
}

export class Hosts {
  readonly #server: Server
  #owner: Socket | undefined
  #epoch = -1
  #hostId: unknown
  #ringScheduled = false
  #ringing = false
  #ringAgain = false
  #early: Socket[] | undefined = []

  private constructor(
    server: Server,
    private readonly socketPath: string,
    private readonly events: HostEvents,
  ) {
    this.#server = server
    server.on('connection', (socket) => {
      // Whoever knocks before the agent runs waits at the door.
      if (this.#early === undefined) this.#greet(socket)
      else this.#early.push(socket)
    })
  }

  /** The agent runs: from now on hosts are let in. */
  open(): void {
    const waiting = this.#early ?? []
    this.#early = undefined
    for (const socket of waiting) this.#greet(socket)
  }

  /** Binds the socket; the bind is the lock. Rejects with EADDRINUSE when another keeper has it. */
  static async listen(socketPath: string, events: HostEvents): Promise<Hosts> {
    const byteCount = Buffer.byteLength(socketPath)
    if (byteCount > longestSocketPath)
      throw new Error(`The socket's path has ${byteCount} bytes; ${longestSocketPath} are possible: ${socketPath}`)
    const server = createServer()
    await new Promise<void>((resolve, reject) => {
      server.once('error', reject)
      server.listen(socketPath, resolve)
    })
    chmodSync(socketPath, 0o600)
    // Failing to accept (no file descriptors left) must not end a keeper; the host will knock again.
    server.on('error', () => undefined)
    return new Hosts(server, socketPath, events)
  }

  get attached(): boolean {
    return this.#owner !== undefined
  }

  /** New output is on disk. */
  ring(): void {
    if (this.#ringScheduled || this.#owner === undefined) return
    this.#ringScheduled = true
    setImmediate(() => {
      this.#ringScheduled = false
      this.#ringNow()
    })
  }

  /** For the owner, if there is one and it reads. */
  tell(message: KeeperMessage): void {
    if (this.#owner !== undefined && (message.t === 'exit' || this.#owner.writableLength < waitingBytesMax))
      this.#owner.write(wireLine(message))
  }

  close(): void {
    this.#server.close()
    for (const socket of this.#early ?? []) socket.destroy()
    this.#owner?.end()
    rmSync(this.socketPath, { force: true })
  }

  #ringNow(): void {
    const owner = this.#owner
    if (owner === undefined) return
    // A host that does not read gets one notice, with the newest totals once it does.
    this.#ringAgain = this.#ringing
    if (this.#ringing) return
    this.#ringing = true
    owner.write(wireLine({ t: 'grew', totals: this.events.totals() }), () => {
      if (this.#owner !== owner) return
      this.#ringing = false
      if (this.#ringAgain) this.#ringNow()
    })
  }

  #greet(socket: Socket): void {
    const reader = new WireReader(largestWireLine)
    const deadline = setTimeout(() => socket.destroy(), helloMs)
    let welcomed = false
    socket.on('error', () => socket.destroy())
    socket.on('close', () => {
      clearTimeout(deadline)
      if (this.#owner !== socket) return
      this.#owner = undefined
      this.events.left()
    })
    socket.on('data', (chunk: Buffer) => {
      const lines = reader.push(chunk)
      if (lines === undefined) {
        socket.destroy()
        return
      }
      for (const line of lines) {
        const message = parseObject(line)
        if (message === undefined) continue
        if (!welcomed) {
          clearTimeout(deadline)
          welcomed = this.#admit(socket, message)
          if (!welcomed) return
        } else if (this.#owner === socket) {
          this.events.said(message, (answer) => {
            if (this.#owner === socket) socket.write(wireLine(answer))
          })
        }
      }
    })
  }

  /** A higher epoch takes over. The same one is the same host come again, which may have to replace its own dead connection. */
  #mayCome(epoch: number, hostId: unknown): boolean {
    return epoch > this.#epoch || (epoch === this.#epoch && typeof hostId === 'string' && hostId === this.#hostId)
  }

  #admit(socket: Socket, hello: Fields): boolean {
    const refuse = (reason: 'epoch' | 'version', detail: string): false => {
      socket.end(wireLine({ t: 'refused', reason, detail }))
      return false
    }
    const { epoch, versions, hostId } = hello
    if (hello['t'] !== 'hello' || !isObject(hello) || !Array.isArray(versions))
      return refuse('version', 'The first message must be a hello.')
    const version = [...wireVersions].sort((a, b) => b - a).find((known) => versions.includes(known))
    if (version === undefined) return refuse('version', `This keeper speaks ${wireVersions.join(', ')}.`)
    if (typeof epoch !== 'number' || !Number.isSafeInteger(epoch) || !this.#mayCome(epoch, hostId))
      return refuse('epoch', `A host with epoch ${this.#epoch} was here; another needs a higher one.`)
    const former = this.#owner
    this.#epoch = epoch
    this.#hostId = hostId
    this.#owner = socket
    this.#ringing = false
    this.#ringAgain = false
    former?.end(wireLine({ t: 'fenced', epoch }))
    // A frozen host reads no farewell; its connection goes all the same.
    former?.destroySoon()
    if (former !== undefined) setTimeout(() => former.destroy(), 1_000).unref()
    socket.write(wireLine({ t: 'welcome', version, ...this.events.welcome() }))
    this.events.came(epoch)
    return true
  }
}
