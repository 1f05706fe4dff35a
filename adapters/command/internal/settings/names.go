package settings

import (
	"context"
	"io"
	"log/slog"
	"regexp"
	"strings"
)

// optionNames replaces the names of the server's options by the names of settings, in errors and in
// the log.
var optionNames = strings.NewReplacer(
	"Options.Listen", "--listen", "Options.Definitions", "--definitions", "Options.APIKey", "--api-key", "Options.Data", "--data", "Options.OwnerKey", "--owner-key-file", "Options.RetainDays", "--retain-events",
	"Options.GeoIP", "--geoip", "Options.PosthogJS", "--posthog-js", "Options.SiteURL", "--site-url",
	"Options.SMTP.URL", "--smtp-url", "Options.SMTP.PasswordFile", "--smtp-password-file", "Options.SMTP.From", "--mail-from",
	"Options.SignIn.OIDC.Issuer", "--oidc-issuer", "Options.SignIn.OIDC.ClientID", "--oidc-client-id", "Options.SignIn.OIDC.ClientSecretFile", "--oidc-client-secret-file",
	"Options.DNSResolver", "--dns-resolver", "Options.Stream.Replicas", "--stream-replicas", "Options.Stream", "--stream",
	"Options.BackupInterval", "--backup-interval", "Options.BackupKeep", "--backup-keep", "Options.BackupKey", "--backup-key", "Options.Backup", "--backup",
	"Options.Segments", "--segments", "Options.Memory", "--memory", "Options.Shadow.Report", "--shadow-report", "Options.TLS.Cert", "--tls-cert", "Options.TLS.Key", "--tls-key",
	"Options.TLS.Domains", "--acme", "Options.TLS.HTTP", "--acme-http", "Options.TLS.Email", "--acme-email", "Options.TLS.Directory", "--acme-directory",
)

// ReplaceNames returns a text of the server with the names of settings instead of options.
func ReplaceNames(text string) string { return optionNames.Replace(text) }

// LogHandler returns a handler that writes the log of serve.
func (c *Config) LogHandler(to io.Writer) slog.Handler {
	options := &slog.HandlerOptions{Level: c.logLevel}
	if c.logJSON {
		return slog.NewJSONHandler(to, options)
	}
	return slog.NewTextHandler(to, options)
}

// NewLogger returns the logger of a server, whose records have the names of settings.
func NewLogger(h slog.Handler) *slog.Logger { return slog.New(renamingHandler{h}) }

// renamingHandler replaces the names of options by the names of settings in messages.
type renamingHandler struct{ slog.Handler }

func (h renamingHandler) Handle(ctx context.Context, r slog.Record) error {
	r.Message = ReplaceNames(r.Message)
	return h.Handler.Handle(ctx, r)
}

func (h renamingHandler) WithAttrs(attrs []slog.Attr) slog.Handler {
	return renamingHandler{h.Handler.WithAttrs(attrs)}
}

func (h renamingHandler) WithGroup(name string) slog.Handler {
	return renamingHandler{h.Handler.WithGroup(name)}
}

// passwordParameter matches a password in the parameters of a URL, or in a PostgreSQL connection
// string ("host=db password=secret").
var passwordParameter = regexp.MustCompile(`(?i)(password=)('(?:[^'\\]|\\.)*'|[^&\s]*)`)

// WithoutPassword returns a setting that is safe to print: passwords in a URL are replaced.
func WithoutPassword(text string) string {
	text = passwordParameter.ReplaceAllString(text, "$1***")
	scheme, rest, ok := strings.Cut(text, "://")
	index := strings.LastIndexByte(rest, '@')
	if !ok || index < 0 {
		return text
	}
	user, _, has := strings.Cut(rest[:index], ":")
	if !has {
		return text
	}
	return scheme + "://" + user + ":***" + rest[index:]
}
