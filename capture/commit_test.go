package capture

import (
	"errors"
	"fmt"
	"testing"
)

// If the store rejects several batches, the error of those that were not retried individually
// says so: a later attempt may succeed, because another batch caused the failure.
func TestRecorder_NotTried(t *testing.T) {
	rejection := errors.New("refused")
	ledger := newBlockingLedger()
	ledger.fail = func(c *Changes) error {
		for i := range c.Events {
			if c.Events[i].Name == "poison" {
				return rejection
			}
		}
		return nil
	}
	r := startRecorder(t, RecorderConfig{Ledger: ledger})
	var group []*pending
	for i, name := range []string{"poison", "poison", "poison", "good"} {
		group = append(group, &pending{batches: []*Batch{batchOf(someEvent(name, fmt.Sprint(i)))}, done: make(chan error, 1)})
	}
	r.commit(group)
	for i, notTried := range []bool{false, false, true, true} {
		if err := <-group[i].done; !errors.Is(err, rejection) || !errors.Is(err, ErrUnavailable) || errors.Is(err, errNotTried) != notTried {
			t.Errorf("batch %d: %v", i, err)
		}
	}
}

// A partition that another server has advanced is not a failure of the store, and the other
// batches of the commit are recorded.
func TestRecorder_MovedIsNoFailure(t *testing.T) {
	ledger := newBlockingLedger()
	ledger.fail = func(c *Changes) error {
		for _, m := range c.Moves {
			if m.From.Partition < 5 {
				return ErrMoved
			}
		}
		return nil
	}
	r := startRecorder(t, RecorderConfig{Ledger: ledger})
	var group []*pending
	for i := range 6 {
		p := StreamPosition{Stream: "s", Partition: i}
		group = append(group, &pending{move: &Move{p, p}, batches: []*Batch{batchOf(someEvent("e", fmt.Sprint(i)))}, done: make(chan error, 1)})
	}
	r.commit(group)
	for i, p := range group {
		if err := <-p.done; errors.Is(err, ErrMoved) != (i < 5) || (err == nil) != (i == 5) {
			t.Errorf("partition %d: %v", i, err)
		}
	}
}
