// A Sarama client with its stock configuration. Config "version" sets its Config.Version; "ordered" allows one request in
// flight at a time.
package main

import (
	"time"

	"github.com/IBM/sarama"

	"hadash/clients/bridge"
)

// Time before Consume is called again after an error: the same as Sarama's own retry backoff.
const againTime = 250 * time.Millisecond

func main() {
	options := bridge.Read()
	config := sarama.NewConfig()
	config.Net.SASL.Enable = true
	config.Net.SASL.Handshake = true
	config.Net.SASL.User = options.User
	config.Net.SASL.Password = options.Password
	if options.ClientID != "" {
		config.ClientID = options.ClientID
	}
	if said := options.Config["version"]; said != "" {
		version, err := sarama.ParseKafkaVersion(said)
		if err != nil {
			bridge.Fail(err)
		}
		config.Version = version
	}
	if options.Role == "produce" {
		produce(options, config)
	} else {
		consume(options, config)
	}
}

func produce(options bridge.Options, config *sarama.Config) {
	config.Producer.Return.Successes = true
	if options.Config["ordered"] == "true" {
		config.Net.MaxOpenRequests = 1
	}
	producer, err := sarama.NewAsyncProducer([]string{options.Bootstrap}, config)
	if err != nil {
		bridge.Fail(err)
	}
	done := make(chan struct{}, 2)
	go func() {
		for message := range producer.Successes() {
			bridge.Sent(message.Metadata.(int), nil)
		}
		done <- struct{}{}
	}()
	go func() {
		for failed := range producer.Errors() {
			bridge.Sent(failed.Msg.Metadata.(int), failed.Err)
		}
		done <- struct{}{}
	}()
	options.Paced(bridge.Until(), func(n int) {
		producer.Input() <- &sarama.ProducerMessage{
			Topic:    options.Topic,
			Key:      sarama.ByteEncoder(options.KeyOf(n)),
			Value:    sarama.ByteEncoder(bridge.ValueOf(n)),
			Headers:  []sarama.RecordHeader{{Key: []byte(options.Header), Value: bridge.HeaderOf(n)}},
			Metadata: n,
		}
	})
	producer.AsyncClose()
	<-done
	<-done
}

type reader struct{ header string }

func (reader) Setup(sarama.ConsumerGroupSession) error   { return nil }
func (reader) Cleanup(sarama.ConsumerGroupSession) error { return nil }

func (r reader) ConsumeClaim(session sarama.ConsumerGroupSession, claim sarama.ConsumerGroupClaim) error {
	for {
		select {
		case message, ok := <-claim.Messages():
			if !ok {
				return nil
			}
			var header []byte
			for _, each := range message.Headers {
				if string(each.Key) == r.header {
					header = each.Value
				}
			}
			bridge.Got(message.Value, header)
			session.MarkMessage(message, "")
		case <-session.Context().Done():
			return nil
		}
	}
}

func consume(options bridge.Options, config *sarama.Config) {
	config.Consumer.Offsets.Initial = sarama.OffsetOldest
	group, err := sarama.NewConsumerGroup([]string{options.Bootstrap}, options.Group, config)
	if err != nil {
		bridge.Fail(err)
	}
	ctx := bridge.Until()
	// Called in a loop, as Sarama's documentation asks, because Consume returns at every rebalance. The example there ends
	// when Consume fails, which happens when a connection ends at the wrong moment; this consumer calls it again.
	bridge.Again(ctx, againTime, sarama.ErrClosedConsumerGroup, func() error {
		return group.Consume(ctx, []string{options.Topic}, reader{options.Header})
	})
	if err := group.Close(); err != nil {
		bridge.Note(err)
	}
}
