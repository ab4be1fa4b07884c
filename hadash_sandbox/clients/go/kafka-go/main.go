// A kafka-go client. By default its Writer spreads records over partitions whatever their key, and asks for no
// acknowledgement. Both are set here, because order and loss are judged.
package main

import (
	"context"
	"errors"
	"time"

	"github.com/segmentio/kafka-go"
	"github.com/segmentio/kafka-go/sasl/plain"

	"hadash/clients/bridge"
)

// Time for an address to answer, as in kafka-go's own default dialer.
const dialTime = 10 * time.Second

func main() {
	options := bridge.Read()
	mechanism := plain.Mechanism{Username: options.User, Password: options.Password}
	if options.Role == "produce" {
		produce(options, mechanism)
	} else {
		consume(options, mechanism)
	}
}

func produce(options bridge.Options, mechanism plain.Mechanism) {
	number := func(message kafka.Message) int { return message.WriterData.(int) }
	writer := &kafka.Writer{
		Addr:         kafka.TCP(options.Bootstrap),
		Topic:        options.Topic,
		Balancer:     &kafka.Hash{},
		RequiredAcks: kafka.RequireAll,
		Async:        true,
		Completion: func(messages []kafka.Message, err error) {
			for _, message := range messages {
				bridge.Sent(number(message), err)
			}
		},
		Transport: &kafka.Transport{ClientID: options.ClientID, SASL: mechanism},
	}
	options.Paced(bridge.Until(), func(n int) {
		message := kafka.Message{
			Key:        options.KeyOf(n),
			Value:      bridge.ValueOf(n),
			Headers:    []kafka.Header{{Key: options.Header, Value: bridge.HeaderOf(n)}},
			WriterData: n,
		}
		if err := writer.WriteMessages(context.Background(), message); err != nil {
			bridge.Sent(n, err)
		}
	})
	if err := writer.Close(); err != nil {
		bridge.Note(err)
	}
}

func consume(options bridge.Options, mechanism plain.Mechanism) {
	reader := kafka.NewReader(kafka.ReaderConfig{
		Brokers:     []string{options.Bootstrap},
		GroupID:     options.Group,
		Topic:       options.Topic,
		ErrorLogger: kafka.LoggerFunc(func(text string, _ ...any) { bridge.Note(errors.New(text)) }),
		Dialer: &kafka.Dialer{
			ClientID:      options.ClientID,
			SASLMechanism: mechanism,
			Timeout:       dialTime,
			DualStack:     true,
		},
	})
	ctx := bridge.Until()
	for {
		message, err := reader.ReadMessage(ctx)
		if ctx.Err() != nil {
			break
		}
		if err != nil {
			bridge.Fail(err)
		}
		var header []byte
		for _, each := range message.Headers {
			if each.Key == options.Header {
				header = each.Value
			}
		}
		bridge.Got(message.Value, header)
	}
	if err := reader.Close(); err != nil {
		bridge.Note(err)
	}
}
