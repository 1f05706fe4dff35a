package httpapi

import (
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/bunting-flags/bunting/adapters/httpapi/internal/admission"
)

// Rate is the rate of a token bucket. The zero value means no limit.
type Rate struct {
	PerSecond float64 // refill rate, in requests per second
	Burst     int     // capacity of the bucket, in requests
}

// ParseRate parses a rate such as 1200/minute: the number is the burst, and the bucket refills
// completely in the given unit. Units are second, minute, hour and day. The error describes the
// expected form.
func ParseRate(text string) (Rate, error) {
	count, unit, _ := strings.Cut(text, "/")
	n, err := strconv.Atoi(strings.TrimSpace(count))
	period := rateUnits[strings.TrimSpace(unit)]
	if err != nil || n <= 0 || period == 0 {
		return Rate{}, fmt.Errorf("expected a rate such as 1200/minute, not %q", text)
	}
	return Rate{float64(n) / period.Seconds(), n}, nil
}

var rateUnits = map[string]time.Duration{
	"second": time.Second, "minute": time.Minute, "hour": time.Hour, "day": 24 * time.Hour,
}

// MaxTokenRates is the maximum number of project keys with a rate of their own.
const MaxTokenRates = 100

// RateLimits are the limits of §10.2. The zero value has no limits.
type RateLimits struct {
	// Token limits flags requests by project key, and IP by client address.
	Token, IP Rate
	// Definitions limits downloads of definitions by project, and RemoteConfig reads of remote
	// configuration by key.
	Definitions, RemoteConfig Rate
	// LogOnly counts and logs requests above the limits, but does not reject them.
	LogOnly bool
}

// DefaultRateLimits returns the limits of PostHog.
func DefaultRateLimits() RateLimits {
	return RateLimits{
		Token: Rate{10, 625}, IP: Rate{50, 1250},
		Definitions: Rate{10, 600}, RemoteConfig: Rate{10, 600},
	}
}

// rates returns the limits for admission.NewLimiters.
func (c RateLimits) rates() admission.Rates {
	return admission.Rates{Token: admission.Rate(c.Token), IP: admission.Rate(c.IP), Definitions: admission.Rate(c.Definitions), RemoteConfig: admission.Rate(c.RemoteConfig), LogOnly: c.LogOnly}
}

// ratesOf returns the rates of Config.TokenRates for admission.NewLimiters.
func ratesOf(tokens map[string]Rate) map[string]admission.Rate {
	out := make(map[string]admission.Rate, len(tokens))
	for token, r := range tokens {
		out[token] = admission.Rate(r)
	}
	return out
}

// Windows are the maximum numbers of requests of a key per minute and per hour. Zero means no
// limit.
type Windows struct{ PerMinute, PerHour int }

// ManagementLimits are the limits of spec/management.md §2.6. The zero value has no limits.
type ManagementLimits struct {
	// Default is for each key on all endpoints except those of Reads, which read events and
	// persons.
	Default, Reads Windows
	// Failures is for requests without a valid key, per client address. If the address was
	// forwarded by a trusted proxy, the proxy may send 10 times as many in all.
	// Failures do not limit requests with valid keys.
	Failures Windows
	// Guesses limits passwords tried on shared dashboards per client address, Links per link. A
	// password that has been accepted before is not counted.
	Guesses, Links Windows
	// SignIns limits attempts to sign in per client address, Mails limits mailed links per
	// recipient address.
	SignIns, Mails Windows
	// Now is the clock. If nil, it is time.Now.
	Now func() time.Time
}

// DefaultManagementLimits returns the limits of §2.6 (decision 25). It also allows, per minute,
// 60 failed authentications, 20 passwords tried per address, 30 passwords tried per link and 10
// sign-ins per address, and, per hour, 5 mailed links per recipient.
func DefaultManagementLimits() ManagementLimits {
	return ManagementLimits{
		Default: Windows{PerMinute: 480, PerHour: 4800}, Reads: Windows{PerMinute: 240, PerHour: 1200},
		Failures: Windows{PerMinute: 60}, Guesses: Windows{PerMinute: 20, PerHour: 200}, Links: Windows{PerMinute: 30, PerHour: 300},
		SignIns: Windows{PerMinute: 10}, Mails: Windows{PerHour: 5},
	}
}

// windows returns the limits for admission.NewManagement.
func (c *ManagementLimits) windows() admission.Limits {
	return admission.Limits{
		Default: admission.Windows(c.Default), Reads: admission.Windows(c.Reads), Failures: admission.Windows(c.Failures), Guesses: admission.Windows(c.Guesses),
		Links: admission.Windows(c.Links), SignIns: admission.Windows(c.SignIns), Mails: admission.Windows(c.Mails), Now: c.Now,
	}
}
