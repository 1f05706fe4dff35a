package main

import (
	"context"
	"errors"

	"github.com/bunting-flags/bunting/cmd/bunting/internal/cli"
	"github.com/bunting-flags/bunting/cmd/bunting/internal/settings"
)

const shadowHelp = `Usage: bunting shadow --upstream URL [SETTINGS OF serve]

Serves as bunting serve does, and compares each answer to a flag request with that
of another service that speaks PostHog's wire. It shows before a move which flags
would change for whom, and why.

  --upstream URL            the other service, such as https://us.i.posthog.com
  --shadow-answer SIDE      who answers: self (default), or upstream: then this
                            server answers flags only while the upstream does not,
                            and is given the events that pass, so that it knows the
                            same people
  --shadow-sample SHARE     share of the requests to compare, 1 by default
  --shadow-report FILE      where the report is written, as JSON, every ten seconds;
                            shadow.json in the data folder by default

Differences are told by flag and cause: value, payload, only_self, only_upstream,
fails_self, fails_upstream, of the whole answer status and quota, and reason where
only the reason differs, which no user sees. A table is printed at the end. Requests
are compared behind the answer; each costs the upstream one flag request. What does
not fit into the queue (1,024 requests, 32 MiB) is answered and not compared.
`

// runShadow runs serve with an upstream service whose responses are compared.
func runShadow(ctx context.Context, p *cli.Program, args []string) error {
	r, err := settings.Resolve(p, args)
	if err != nil {
		var help cli.HelpRequest
		if errors.As(err, &help) {
			return cli.HelpRequest("shadow")
		}
		return err
	}
	if r.Config.Shadow.Upstream == nil && !r.PrintConfig {
		return cli.BadUsage("shadow", "--upstream is missing: whom to compare with")
	}
	return runServe(ctx, p, args)
}
