package settings

import (
	"errors"
	"fmt"
	"net/url"
	"slices"
	"strconv"
	"strings"
)

// streamSettings are the settings of the stream in front of the database.
var streamSettings = []setting{
	{"stream", text, "URL", []string{""}, "JetStream that stores events until they are in the database: nats://HOST:PORT, several separated by commas",
		func(c *Config, v []string) error { c.Stream.URL = v[0]; return CheckStream(v[0]) }},
	{"stream-creds", text, "FILE", []string{""}, "file with NATS credentials for --stream",
		func(c *Config, v []string) error { c.Stream.Creds = v[0]; return nil }},
	{"stream-replicas", number, "N", []string{"0"}, "brokers that store each event: 1, 3 or 5; 0 does not change an existing stream and creates a new one with 1",
		func(c *Config, v []string) error {
			n, err := strconv.Atoi(v[0])
			if err != nil || !slices.Contains([]int{0, 1, 3, 5}, n) { // an even number survives no more failures than the odd one below it
				return fmt.Errorf("must be 1, 3 or 5, or 0 for the replicas of the existing stream, not %q", v[0])
			}
			c.Stream.Replicas = n
			return nil
		}},
	{"stream-bytes", number, "BYTES", []string{"0"}, "size of the stream, above which events are refused; 0 does not change an existing stream and creates a new one with 8 GiB",
		bytesOrZero(func(c *Config) *int64 { return &c.Stream.MaxBytes })},
}

// CheckStream returns an error if the address of a stream is invalid.
func CheckStream(urls string) error {
	if urls == "" {
		return nil
	}
	for one := range strings.SplitSeq(urls, ",") {
		if u, err := url.Parse(strings.TrimSpace(one)); err != nil || u.Scheme != "nats" && u.Scheme != "tls" || u.Hostname() == "" {
			return errors.New("must be nats://HOST:PORT or tls://HOST:PORT, several separated by commas")
		}
	}
	return nil
}
