// Shared by the clients of both JavaScript libraries: reads what they are asked to do, and prints what they did. It is
// the counterpart of bridge.go.

export const options = JSON.parse(process.argv[2])
options.password = process.env.CLIENT_PASSWORD

let stopping = false
for (const signal of ['SIGTERM', 'SIGINT']) process.on(signal, () => { stopping = true })

// Whether somebody has asked this process to end.
export function stopped () { return stopping }

function say (line) { process.stdout.write(JSON.stringify(line) + '\n') }

// Ends the process, as an application does after an error that it cannot handle.
export function fail (error) {
  console.error(error)
  process.exit(1)
}

// Prints which records were acknowledged, or failed with an error.
export function sent (numbers, error) {
  for (const n of numbers) say(error ? { n, error: String(error.message ?? error) } : { n })
}

// The value of record n's header: bytes that are not valid text.
export function headerOf (n) { return Buffer.concat([Buffer.from([0x00, 0xff]), valueOf(n)]) }

// The value of record n.
export function valueOf (n) { return Buffer.from(String(n)) }

// The key of record n.
export function keyOf (n) { return Buffer.from(`${options.topic}/${n % options.keys}`) }

// Prints which record was read.
export function got (value, header) {
  if (!/^\d+$/.test(String(value))) {
    say({ n: null, damaged: `value ${JSON.stringify(String(value))}` })
    return
  }
  const n = Number(value)
  const damaged = header !== undefined && headerOf(n).equals(Buffer.from(header))
    ? {}
    : { damaged: `header ${JSON.stringify(String(header))}` }
  say({ n, ...damaged })
}

export function pause (milliseconds) { return new Promise(resolve => setTimeout(resolve, milliseconds)) }

// Calls send with the numbers that are due, at the asked rate, until the process is to end. One call at a time, so that
// records stay in order whatever the library sends again.
export async function paced (send) {
  const interval = 1000 / options.rate
  const began = Date.now()
  for (let next = options.first; !stopped();) {
    const due = options.first + Math.floor((Date.now() - began) / interval)
    if (due <= next) {
      await pause(interval)
      continue
    }
    const numbers = Array.from({ length: due - next }, (_, index) => next + index)
    next = due
    await send(numbers)
  }
}
