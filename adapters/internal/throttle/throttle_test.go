package throttle

import (
	"errors"
	"fmt"
	"slices"
	"testing"
	"time"
)

func TestEvery(t *testing.T) {
	for pause, want := range map[time.Duration][]string{time.Hour: {"a 0"}, 0: {"a 0", "b 0", "c 0"}} {
		var got []string
		say := Every(pause, func(err error, unsaid int) { got = append(got, fmt.Sprint(err, unsaid)) })
		for _, text := range []string{"a", "b", "c"} {
			say(errors.New(text))
		}
		if !slices.Equal(got, want) {
			t.Errorf("a pause of %s: %q, want %q", pause, got, want)
		}
	}
}

func TestStreak(t *testing.T) {
	var s Streak
	failure := errors.New("unavailable")
	for i, step := range []struct {
		err  error
		want bool
	}{{nil, false}, {failure, true}, {failure, false}, {errors.New("another"), false}, {nil, false}, {failure, true}} {
		if got := s.Begins(step.err); got != step.want {
			t.Errorf("step %d: %t", i, got)
		}
	}
}
