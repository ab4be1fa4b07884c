// A franz-go client with its stock configuration; config "assignor" chooses another assignor than its cooperative one.
package main

import (
	"context"
	"fmt"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/sasl/plain"

	"hadash/clients/bridge"
)

// How long the last records may take at the end.
const flushTime = 15 * time.Second

func main() {
	options := bridge.Read()
	stock := []kgo.Opt{
		kgo.SeedBrokers(options.Bootstrap),
		kgo.SASL(plain.Auth{User: options.User, Pass: options.Password}.AsMechanism()),
	}
	if options.ClientID != "" {
		stock = append(stock, kgo.ClientID(options.ClientID))
	}
	if options.Role == "produce" {
		produce(options, stock)
	} else {
		consume(options, stock)
	}
}

func produce(options bridge.Options, stock []kgo.Opt) {
	client, err := kgo.NewClient(append(stock, kgo.DefaultProduceTopic(options.Topic))...)
	if err != nil {
		bridge.Fail(err)
	}
	defer client.Close()
	options.Paced(bridge.Until(), func(n int) {
		record := &kgo.Record{
			Key:     options.KeyOf(n),
			Value:   bridge.ValueOf(n),
			Headers: []kgo.RecordHeader{{Key: options.Header, Value: bridge.HeaderOf(n)}},
		}
		client.Produce(context.Background(), record, func(_ *kgo.Record, err error) { bridge.Sent(n, err) })
	})
	ctx, cancel := context.WithTimeout(context.Background(), flushTime)
	defer cancel()
	if err := client.Flush(ctx); err != nil {
		bridge.Note(err)
	}
}

func consume(options bridge.Options, stock []kgo.Opt) {
	stock = append(stock, kgo.ConsumerGroup(options.Group), kgo.ConsumeTopics(options.Topic))
	switch options.Config["assignor"] {
	case "":
	case "range":
		stock = append(stock, kgo.Balancers(kgo.RangeBalancer()))
	default:
		bridge.Fail(fmt.Errorf("unknown assignor %q", options.Config["assignor"]))
	}
	client, err := kgo.NewClient(stock...)
	if err != nil {
		bridge.Fail(err)
	}
	defer client.Close()
	ctx := bridge.Until()
	for ctx.Err() == nil {
		fetches := client.PollFetches(ctx)
		fetches.EachError(func(_ string, _ int32, err error) { bridge.Note(err) })
		fetches.EachRecord(func(record *kgo.Record) {
			var header []byte
			for _, each := range record.Headers {
				if each.Key == options.Header {
					header = each.Value
				}
			}
			bridge.Got(record.Value, header)
		})
	}
}
