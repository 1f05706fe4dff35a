package server

import (
	"errors"
	"fmt"
	"slices"
	"testing"
	"time"
)

func TestThrottle(t *testing.T) {
	for pause, want := range map[time.Duration][]string{time.Hour: {"a 0"}, 0: {"a 0", "b 0", "c 0"}} {
		var got []string
		say := throttle(pause, func(err error, unsaid int) { got = append(got, fmt.Sprint(err, unsaid)) })
		for _, text := range []string{"a", "b", "c"} {
			say(errors.New(text))
		}
		if !slices.Equal(got, want) {
			t.Errorf("a pause of %s: %q, want %q", pause, got, want)
		}
	}
}
