// A client of @platformatic/kafka with its stock configuration. (Its streams begin at the end unless they are told to go
// on where the group has committed.)

import './node20.mjs'

import { Consumer, MessagesStreamFallbackModes, MessagesStreamModes, Producer } from '@platformatic/kafka'
import { fail, got, headerOf, keyOf, options, paced, pause, sent, stopped, valueOf } from './bridge.mjs'

const stock = {
  clientId: options.client_id || 'application',
  bootstrapBrokers: [options.bootstrap],
  sasl: { mechanism: 'PLAIN', username: options.user, password: options.password }
}

async function produce () {
  const producer = new Producer(stock)
  await paced(async numbers => {
    const messages = numbers.map(n => ({
      topic: options.topic,
      key: keyOf(n),
      value: valueOf(n),
      headers: new Map([[Buffer.from(options.header), headerOf(n)]])
    }))
    try {
      await producer.send({ messages })
      sent(numbers)
    } catch (error) {
      sent(numbers, error)
    }
  })
  await producer.close()
}

async function consume () {
  const consumer = new Consumer({ ...stock, groupId: options.group })
  consumer.on('error', fail)
  const stream = await consumer.consume({
    topics: [options.topic],
    mode: MessagesStreamModes.COMMITTED,
    fallbackMode: MessagesStreamFallbackModes.EARLIEST
  })
  stream.on('error', fail)
  stream.on('data', message => {
    let header
    for (const [key, value] of message.headers) if (String(key) === options.header) header = value
    got(message.value, header)
  })
  while (!stopped()) await pause(100)
  await consumer.close(true)
}

try {
  await (options.role === 'produce' ? produce() : consume())
  process.exit(0)
} catch (error) {
  fail(error)
}
