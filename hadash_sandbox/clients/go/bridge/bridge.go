// Package bridge is shared by the clients of all Go libraries: it reads what they are asked to do, and prints what they
// did.
//
// The first argument is JSON (Options). Each record that was acknowledged or read is one line of JSON on the standard
// output, {"n": 12}, with "error" for a record that the library failed to deliver and "damaged" for one that did not
// arrive as it was written. Everything else that the application sees goes to the standard error.
package bridge

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"strconv"
	"sync"
	"syscall"
	"time"
)

// Options says what one client does.
type Options struct {
	Role      string            `json:"role"`
	Bootstrap string            `json:"bootstrap"`
	User      string            `json:"user"`
	Password  string            `json:"-"`
	ClientID  string            `json:"client_id"`
	Topic     string            `json:"topic"`
	Group     string            `json:"group"`
	Rate      float64           `json:"rate"`
	Keys      int               `json:"keys"`
	First     int               `json:"first"`
	Header    string            `json:"header"`
	Config    map[string]string `json:"config"`
}

// Read takes the options from the command line, and the password from the environment.
func Read() Options {
	var options Options
	if len(os.Args) != 2 {
		Fail(fmt.Errorf("one argument is expected: the options as JSON"))
	}
	if err := json.Unmarshal([]byte(os.Args[1]), &options); err != nil {
		Fail(err)
	}
	options.Password = os.Getenv("CLIENT_PASSWORD")
	return options
}

// Until returns a context that ends with SIGTERM or SIGINT.
func Until() context.Context {
	ctx, _ := signal.NotifyContext(context.Background(), syscall.SIGTERM, os.Interrupt)
	return ctx
}

// Again repeats a call until ctx ends or the call returns end. A failure is noted, and the call repeated after a pause.
func Again(ctx context.Context, pause time.Duration, end error, call func() error) {
	for ctx.Err() == nil {
		err := call()
		if errors.Is(err, end) {
			return
		}
		if err == nil || ctx.Err() != nil {
			continue
		}
		Note(err)
		select {
		case <-ctx.Done():
		case <-time.After(pause):
		}
	}
}

// Fail ends the process, as an application does after an error that it cannot handle.
func Fail(err error) {
	fmt.Fprintln(os.Stderr, err)
	os.Exit(1)
}

// Note prints an error after which the application continues.
func Note(err error) {
	fmt.Fprintln(os.Stderr, err)
}

var (
	mutex  sync.Mutex
	output = bufio.NewWriter(os.Stdout)
)

func say(line map[string]any) {
	mutex.Lock()
	defer mutex.Unlock()
	data, err := json.Marshal(line)
	if err != nil {
		Fail(err)
	}
	output.Write(append(data, '\n'))
	output.Flush()
}

// Sent prints that record n was acknowledged, or failed with err.
func Sent(n int, err error) {
	if err != nil {
		say(map[string]any{"n": n, "error": err.Error()})
		return
	}
	say(map[string]any{"n": n})
}

// Got prints which record was read.
func Got(value, header []byte) {
	n, err := strconv.Atoi(string(value))
	if err != nil {
		say(map[string]any{"n": nil, "damaged": fmt.Sprintf("value %q", value)})
		return
	}
	line := map[string]any{"n": n}
	if !bytes.Equal(header, HeaderOf(n)) {
		line["damaged"] = fmt.Sprintf("header %q", header)
	}
	say(line)
}

// KeyOf is the key of record n.
func (o Options) KeyOf(n int) []byte {
	return []byte(o.Topic + "/" + strconv.Itoa(n%o.Keys))
}

// ValueOf is the value of record n.
func ValueOf(n int) []byte {
	return []byte(strconv.Itoa(n))
}

// HeaderOf is the value of record n's header: bytes that are not valid text.
func HeaderOf(n int) []byte {
	return append([]byte{0x00, 0xff}, ValueOf(n)...)
}

// Paced calls send with the numbers from First on at the asked rate until ctx ends.
func (o Options) Paced(ctx context.Context, send func(n int)) {
	ticker := time.NewTicker(time.Duration(float64(time.Second) / o.Rate))
	defer ticker.Stop()
	for n := o.First; ; n++ {
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
			send(n)
		}
	}
}
