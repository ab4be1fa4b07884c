// A KafkaJS client with its stock configuration.

import kafkajs from 'kafkajs'
import { fail, got, headerOf, keyOf, options, paced, pause, sent, stopped, valueOf } from './bridge.mjs'

// What only the application knows: where the cluster is, and how to sign in.
const kafka = new kafkajs.Kafka({
  brokers: [options.bootstrap],
  sasl: { mechanism: 'plain', username: options.user, password: options.password },
  logLevel: kafkajs.logLevel.ERROR,
  logCreator: () => ({ log }) => console.error(log.message),
  ...(options.client_id ? { clientId: options.client_id } : {})
})

async function produce () {
  const producer = kafka.producer({ createPartitioner: kafkajs.Partitioners.DefaultPartitioner })
  await producer.connect()
  await paced(async numbers => {
    const messages = numbers.map(n => ({
      key: keyOf(n), value: valueOf(n), headers: { [options.header]: headerOf(n) }
    }))
    try {
      await producer.send({ topic: options.topic, messages })
      sent(numbers)
    } catch (error) {
      sent(numbers, error)
    }
  })
  await producer.disconnect()
}

async function consume () {
  const consumer = kafka.consumer({ groupId: options.group })
  // It restarts by itself after errors that it can retry; an application ends after all others.
  consumer.on(consumer.events.CRASH, ({ payload }) => { if (!payload.restart) fail(payload.error) })
  await consumer.connect()
  await consumer.subscribe({ topic: options.topic, fromBeginning: true })
  await consumer.run({
    eachMessage: async ({ message }) => got(message.value, message.headers[options.header])
  })
  while (!stopped()) await pause(100)
  await consumer.disconnect()
}

try {
  await (options.role === 'produce' ? produce() : consume())
  process.exit(0)
} catch (error) {
  fail(error)
}
