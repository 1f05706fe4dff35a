package command

import (
	"context"
	"errors"

	"github.com/bunting-flags/bunting/adapters/command/internal/cli"
	"github.com/bunting-flags/bunting/adapters/command/internal/settings"
)

const shadowHelp = `Usage: bunting shadow --upstream URL [SETTINGS OF serve]

Serves like bunting serve, and compares each response to a flag request with the
response of another service that has PostHog's API. Before a migration it shows
which flags would change, for which users, and why.

  --upstream URL            the other service, such as https://us.i.posthog.com
  --shadow-answer SIDE      which side's response is sent: self (default) or
                            upstream; with upstream this server's response is sent
                            only if the upstream fails, and this server also stores
                            the events, so that it has the same persons
  --shadow-sample SHARE     share of the requests to compare, 1 by default
  --shadow-report FILE      file of the JSON report, written every ten seconds;
                            shadow.json in the data folder by default

Differences are reported by flag and cause: value, payload, only_self,
only_upstream, fails_self, fails_upstream, and reason if only the reason differs,
which no user sees; for the whole response status and quota. A table is printed at
the end. Requests are compared after the response is sent; each causes one flag
request to the upstream. Requests that do not fit into the queue (1,024 requests,
32 MiB) are answered but not compared.
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
		return cli.BadUsage("shadow", "--upstream is missing: give the URL of the service to compare with")
	}
	return runServe(ctx, p, args)
}
