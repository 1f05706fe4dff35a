// Command bunting evaluates feature flags and captures events: as a server that PostHog's SDKs can
// talk to (serve), for one user without a server (eval), as a test of definition files (check), and
// as a client that moves events and persons between servers (export, import). Package
// adapters/command has its commands.
package main

import "github.com/bunting-flags/bunting/adapters/command"

func main() { command.Main() }
