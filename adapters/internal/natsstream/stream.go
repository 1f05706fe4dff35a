package natsstream

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/url"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/bunting-flags/bunting/capture"
	"github.com/bunting-flags/bunting/flags/wire"
)

// Defaults of Config.
const (
	DefaultName     = "bunting"
	DefaultMaxBytes = 8 << 30
	DefaultPatience = 15 * time.Second
	DefaultWaiting  = 4096
	DefaultLease    = 15 * time.Second
)

const (
	// Partitions is the number of partitions of a new stream.
	Partitions = 16
	// DeadBytes is the maximum size of the dead letters. When it is reached, processing stops at
	// the next one.
	DeadBytes = 1 << 30
	// DeadAge is the age at which dead letters are deleted.
	DeadAge = 90 * 24 * time.Hour
	// duplicates is how long the broker detects duplicates of a message.
	duplicates = 2 * time.Minute
	// away is the time without a connection after which Append fails immediately.
	away = 2 * time.Second
	// request is the timeout of one request to the broker.
	request = 5 * time.Second
)

// Config configures a Stream. Only URL is required.
type Config struct {
	// URL is nats://HOST:PORT, several separated by commas; tls:// requires TLS. It may include
	// user and password.
	URL string
	// Creds is a file with credentials. If empty, the connection has no credentials.
	Creds string
	// Name is the prefix of the names of the streams, by default DefaultName.
	Name string
	// Replicas is the number of brokers that store each message: 1, 3 or 5. Zero leaves an existing
	// stream unchanged, and means 1 for a new one.
	Replicas int
	// MaxBytes is the maximum size of the stream. Zero leaves an existing stream unchanged, and
	// means DefaultMaxBytes for a new one.
	MaxBytes int64
	// Patience is the timeout of Append, by default DefaultPatience. It must be less than the two
	// minutes for which the broker detects duplicates. It also limits Connect.
	Patience time.Duration
	// Waiting is the maximum number of waiting calls of Append, by default DefaultWaiting.
	Waiting int
	// Lease is the time after which the partitions of a failed process are read by other processes,
	// by default DefaultLease; more than 30 seconds is not useful. It is fixed when the stream is
	// created.
	Lease time.Duration
	// Logger receives log messages. If nil, nothing is logged.
	Logger *slog.Logger
}

// Stream is a connection to the stream. It is safe for concurrent use.
type Stream struct {
	config Config
	conn   *nats.Conn
	js     jetstream.JetStream
	events jetstream.Stream
	dead   jetstream.Stream
	leases jetstream.Stream

	id           string
	partitions   int
	replicas     int
	disconnected atomic.Int64 // start of the disconnection, in nanoseconds; 0 if connected

	lanes   []lane
	waiting atomic.Int64
	closing atomic.Bool
	running sync.WaitGroup

	appended, rejected, redelivered, deadLetters atomic.Uint64
	mu                                           sync.Mutex
	lags                                         map[*lag]struct{}
	highest                                      []uint64 // by partition: the highest number that was read
}

// The keys of a stream's metadata.
const (
	metaID         = "bunting_id"
	metaPartitions = "bunting_partitions"
)

// Connect connects to the broker and creates the streams that are missing.
func Connect(ctx context.Context, c Config) (*Stream, error) {
	if c.Name == "" {
		c.Name = DefaultName
	}
	if c.Patience <= 0 {
		c.Patience = DefaultPatience
	}
	if c.Waiting <= 0 {
		c.Waiting = DefaultWaiting
	}
	if c.Lease <= 0 {
		c.Lease = DefaultLease
	}
	if c.Logger == nil {
		c.Logger = slog.New(slog.DiscardHandler)
	}
	s := &Stream{config: c, lags: map[*lag]struct{}{}}
	ctx, cancel := context.WithTimeout(ctx, c.Patience)
	defer cancel()
	err := s.retry(ctx, s.connect)
	if err == nil {
		err = s.retry(ctx, s.setUp)
	}
	if err != nil {
		if s.conn != nil {
			s.conn.Close()
		}
		return nil, fmt.Errorf("the stream at %s: %w", withoutSecrets(c.URL), withAdvice(err))
	}
	return s, nil
}

// retry retries do until it succeeds or a retry cannot help: a broker may just be starting. If the
// last attempt is cut off by ctx, the error of the attempt before it is returned, which says more.
func (s *Stream) retry(ctx context.Context, do func(ctx context.Context) error) error {
	var before error
	for {
		// The brokers never respond to a request that they receive while they have no leader.
		once, cancel := context.WithTimeout(ctx, request)
		err := do(once)
		cancel()
		if err == nil || isFinal(err) {
			return err
		}
		if ctx.Err() != nil && before != nil {
			return before
		}
		before = err
		select {
		case <-ctx.Done():
			return err
		case <-time.After(250 * time.Millisecond):
		}
	}
}

// errSetting marks an error that only a change of configuration can resolve.
var errSetting = errors.New("")

// isFinal reports whether retrying cannot help.
func isFinal(err error) bool {
	var api *jetstream.APIError
	if errors.Is(err, jetstream.ErrJetStreamNotEnabled) || errors.Is(err, jetstream.ErrJetStreamNotEnabledForAccount) {
		return true
	}
	return errors.Is(err, errSetting) || isNoSpace(err) || errors.Is(err, nats.ErrAuthorization) || errors.Is(err, nats.ErrAuthExpired) ||
		errors.As(err, &api) && api.Code >= 400 && api.Code < 500 && api.Code != 408
}

// isNoSpace reports whether the broker has no space for a stream of the requested size.
func isNoSpace(err error) bool {
	const insufficientStorage = 10047
	return hasCode(err, insufficientStorage)
}

// withAdvice adds advice to the error of a failed start.
func withAdvice(err error) error {
	switch {
	case isNoSpace(err):
		return fmt.Errorf("%w: choose a smaller stream, or give the broker more disk (max_file_store)", err)
	case errors.Is(err, jetstream.ErrJetStreamNotEnabled), errors.Is(err, jetstream.ErrJetStreamNotEnabledForAccount), errors.Is(err, nats.ErrNoResponders):
		return fmt.Errorf("%w: start the broker with JetStream (nats-server -js -sd DIR)", err)
	case errors.Is(err, nats.ErrNoServers), errors.Is(err, nats.ErrTimeout), errors.Is(err, context.DeadlineExceeded):
		return fmt.Errorf("%w: check that the broker is running there, and that there are enough brokers for the replicas", err)
	case errors.Is(err, nats.ErrAuthorization):
		return fmt.Errorf("%w: the broker requires a user and password in the address, or credentials", err)
	}
	return err
}

// withoutSecrets returns addresses without users and passwords.
func withoutSecrets(urls string) string {
	list := strings.Split(urls, ",")
	for i, one := range list {
		if u, err := url.Parse(strings.TrimSpace(one)); err == nil {
			u.User, list[i] = nil, u.Scheme+"://"+u.Host
		} else {
			list[i] = "(an address that cannot be read)"
		}
	}
	return strings.Join(list, ",")
}

func (s *Stream) connect(context.Context) (err error) {
	options := []nats.Option{
		nats.Name("bunting"), nats.MaxReconnects(-1), nats.ReconnectWait(500 * time.Millisecond),
		nats.ReconnectJitter(500*time.Millisecond, time.Second), nats.Timeout(request),
		nats.ReconnectBufSize(-1), // messages that cannot be sent now fail immediately
		nats.PingInterval(10 * time.Second), nats.MaxPingsOutstanding(2),
		nats.DisconnectErrHandler(func(_ *nats.Conn, err error) {
			s.disconnected.Store(time.Now().UnixNano())
			if err != nil {
				s.config.Logger.Warn("lost the connection to the stream", "error", err)
			}
		}),
		nats.ReconnectHandler(func(*nats.Conn) {
			s.disconnected.Store(0)
			s.config.Logger.Info("reconnected to the stream")
		}),
		// Readers detect lost messages themselves.
		nats.ErrorHandler(func(_ *nats.Conn, _ *nats.Subscription, err error) { s.config.Logger.Debug("stream", "error", err) }),
	}
	if s.config.Creds != "" {
		options = append(options, nats.UserCredentials(s.config.Creds))
	}
	if s.conn, err = nats.Connect(s.config.URL, options...); err != nil {
		return err
	}
	s.js, err = jetstream.New(s.conn, jetstream.WithDefaultTimeout(request))
	return err
}

func (s *Stream) setUp(ctx context.Context) (err error) {
	c := s.config
	replicas, bytes := max(c.Replicas, 1), c.MaxBytes
	if bytes <= 0 {
		bytes = DefaultMaxBytes
	}
	meta := map[string]string{metaID: wire.NewUUID7(time.Now()).String(), metaPartitions: strconv.Itoa(Partitions)}
	s.events, err = s.ensure(ctx, jetstream.StreamConfig{
		Name: c.Name + "_events", Description: "events that wait for the database", Subjects: []string{c.Name + ".events.*"},
		Storage: jetstream.FileStorage, Replicas: replicas, MaxBytes: bytes, Discard: jetstream.DiscardNew, Duplicates: duplicates, Metadata: meta,
	}, c.MaxBytes)
	if err != nil {
		return err
	}
	s.dead, err = s.ensure(ctx, jetstream.StreamConfig{
		Name: c.Name + "_dead", Description: "events that the database refuses", Subjects: []string{c.Name + ".dead.*.*"},
		Storage: jetstream.FileStorage, Replicas: replicas, MaxBytes: min(DeadBytes, bytes), MaxAge: DeadAge, Discard: jetstream.DiscardNew, Duplicates: time.Hour,
	}, 0)
	if err != nil {
		return err
	}
	s.leases, err = s.ensure(ctx, jetstream.StreamConfig{
		Name: c.Name + "_leases", Description: "leases of the partitions", Subjects: []string{c.Name + ".leases.>"},
		Storage: jetstream.FileStorage, Replicas: replicas, MaxBytes: 1 << 20, MaxMsgsPerSubject: 1, MaxAge: c.Lease, Duplicates: c.Lease,
	}, 0)
	if err != nil {
		return err
	}
	is := s.events.CachedInfo().Config
	s.id, s.replicas = is.Metadata[metaID], is.Replicas
	if s.partitions, err = strconv.Atoi(is.Metadata[metaPartitions]); err != nil || s.partitions < 1 || s.partitions > 1024 || s.id == "" {
		return fmt.Errorf("%wthe stream %s was not made by bunting: remove or rename it", errSetting, is.Name)
	}
	if is.Storage != jetstream.FileStorage || is.Discard != jetstream.DiscardNew || is.Retention != jetstream.LimitsPolicy || is.MaxAge != 0 || is.MaxMsgs > 0 || is.MaxMsgsPerSubject > 0 {
		return fmt.Errorf("%wthe stream %s was changed so that it may lose events: it needs file storage, discard new, and no limit other than its bytes", errSetting, is.Name)
	}
	if s.config.Lease = s.leases.CachedInfo().Config.MaxAge; s.config.Lease <= 0 {
		return fmt.Errorf("%wthe stream %s_leases was changed so that leases never end: remove it", errSetting, c.Name)
	}
	s.lanes, s.highest = make([]lane, s.partitions), make([]uint64, s.partitions)
	return nil
}

// ensure creates a stream, or updates an existing one to the configured replicas and size.
func (s *Stream) ensure(ctx context.Context, want jetstream.StreamConfig, bytes int64) (jetstream.Stream, error) {
	is, err := s.js.Stream(ctx, want.Name)
	if errors.Is(err, jetstream.ErrStreamNotFound) {
		if is, err = s.js.CreateStream(ctx, want); errors.Is(err, jetstream.ErrStreamNameAlreadyInUse) {
			is, err = s.js.Stream(ctx, want.Name) // another server was faster
		}
	}
	if err != nil {
		return nil, err
	}
	have := is.CachedInfo().Config
	if s.config.Replicas == 0 || have.Replicas == s.config.Replicas {
		if bytes <= 0 || have.MaxBytes == bytes {
			return is, nil
		}
	}
	if s.config.Replicas > 0 {
		have.Replicas = s.config.Replicas
	}
	if bytes > 0 {
		have.MaxBytes = bytes
	}
	return s.js.UpdateStream(ctx, have)
}

// ID implements capture.Stream.
func (s *Stream) ID() string { return s.id }

// Replicas returns the number of brokers that store each message.
func (s *Stream) Replicas() int { return s.replicas }

// isReachable reports whether it is useful to wait for the broker.
func (s *Stream) isReachable() bool {
	since := s.disconnected.Load()
	return since == 0 || time.Since(time.Unix(0, since)) < away
}

// Stats implements capture.Stream.
func (s *Stream) Stats() capture.StreamStats {
	stats := capture.StreamStats{
		Appended: s.appended.Load(), Rejected: s.rejected.Load(), Redelivered: s.redelivered.Load(), DeadLetters: s.deadLetters.Load(),
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	for l := range s.lags {
		stats.Partitions++
		stats.Waiting += l.pending.Load() + l.inHand.Load()
		if at := l.oldest.Load(); at != 0 {
			stats.Oldest = max(stats.Oldest, time.Since(time.Unix(0, at)))
		}
	}
	return stats
}

// Close waits for running calls of Append, then closes the connection. RunPartitions must have
// returned.
func (s *Stream) Close() {
	s.mu.Lock()
	s.closing.Store(true)
	s.mu.Unlock()
	s.running.Wait()
	s.conn.Close()
}

var _ capture.Stream = (*Stream)(nil)
