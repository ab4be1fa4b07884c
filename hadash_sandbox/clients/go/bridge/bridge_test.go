package bridge

import (
	"context"
	"errors"
	"fmt"
	"io"
	"testing"
)

var closed = errors.New("closed")

func TestAgainGoesOnAfterAnErrorAndAfterNone(t *testing.T) {
	answers := []error{nil, io.EOF, nil, fmt.Errorf("it is %w", closed)}
	calls := 0
	Again(context.Background(), 0, closed, func() error {
		calls++
		return answers[calls-1]
	})
	if calls != len(answers) {
		t.Fatalf("%d calls, not %d", calls, len(answers))
	}
}

func TestAgainEndsWithItsContext(t *testing.T) {
	ctx, cancel := context.WithCancel(context.Background())
	calls := 0
	Again(ctx, 0, closed, func() error {
		calls++
		cancel()
		return io.EOF
	})
	if calls != 1 {
		t.Fatalf("%d calls after the end", calls-1)
	}
}
