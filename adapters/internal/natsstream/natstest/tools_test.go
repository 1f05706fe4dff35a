package natstest

import (
	"context"
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/bunting-flags/bunting/capture"
)

func onPort(n int) func(*server.Options) { return func(o *server.Options) { o.Port = n } }
func smallPayload(o *server.Options)     { o.MaxPayload = 256 << 10 }
func withoutJetStream(o *server.Options) { o.JetStream = false }
func withPassword(o *server.Options)     { o.Username, o.Password = "me", "secret" }

// unsharedStream is a stream that reads all partitions without leases.
type unsharedStream struct{ capture.Stream }

func (g unsharedStream) RunPartitions(ctx context.Context, read func(context.Context, int)) error {
	return shareAll(ctx, read)
}

func shareAll(ctx context.Context, read func(context.Context, int)) error {
	done := make(chan struct{})
	const partitions = 16
	for n := range partitions {
		go func() { read(ctx, n); done <- struct{}{} }()
	}
	for range partitions {
		<-done
	}
	return nil
}

// broker returns a separate connection to a broker, with the stream of events.
func broker(t testing.TB, url string) (jetstream.JetStream, jetstream.Stream) {
	t.Helper()
	c, err := nats.Connect(url)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.Close)
	js, err := jetstream.New(c)
	if err != nil {
		t.Fatal(err)
	}
	events, err := js.Stream(t.Context(), "bunting_events")
	if err != nil {
		t.Fatal(err)
	}
	return js, events
}

// usedSubjects returns the subjects of the partitions that have messages.
func usedSubjects(t testing.TB, events jetstream.Stream) (subjects []string) {
	t.Helper()
	info, err := events.Info(t.Context(), jetstream.WithSubjectFilter(">"))
	if err != nil {
		t.Fatal(err)
	}
	for subject := range info.State.Subjects {
		subjects = append(subjects, subject)
	}
	return subjects
}

// partitionOf returns the only partition that is in use.
func partitionOf(t testing.TB, url string) (n int) {
	t.Helper()
	_, events := broker(t, url)
	subjects := usedSubjects(t, events)
	if len(subjects) != 1 {
		t.Fatalf("in use are %v, want one", subjects)
	}
	if _, err := fmt.Sscanf(subjects[0], "bunting.events.%d", &n); err != nil {
		t.Fatal(err)
	}
	return n
}

// garbage publishes an invalid message to the partition that is in use.
func garbage(t testing.TB, url string) {
	t.Helper()
	js, events := broker(t, url)
	for _, subject := range usedSubjects(t, events) {
		if _, err := js.Publish(t.Context(), subject, []byte("garbage")); err != nil {
			t.Fatal(err)
		}
	}
}

// random returns a string that does not compress.
func random(n int) string {
	const letters = "0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ-_"
	r := rand.New(rand.NewPCG(1, 2))
	out := make([]byte, n)
	for i := range out {
		out[i] = letters[r.IntN(len(letters))]
	}
	return string(out)
}
