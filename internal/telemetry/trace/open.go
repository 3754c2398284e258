package trace

import (
	"context"
	"fmt"
	"log/slog"
	"os"
	"strings"
	"time"

	otelglobal "go.opentelemetry.io/otel"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/exporters/otlp/otlptrace"
	"go.opentelemetry.io/otel/sdk/resource"
	sdk "go.opentelemetry.io/otel/sdk/trace"

	"github.com/beeos/beeos"
)

// The variables that say whether there are traces at all. Those about the collector
// are in collector_settings.go; OpenTelemetry itself reads sampler and resource.
const (
	envDisabled = "OTEL_SDK_DISABLED"
	envExporter = "OTEL_TRACES_EXPORTER"
)

// closeWithin is how long the last spans may take to be collected.
const closeWithin = 5 * time.Second

// Open makes the Tracer that the OTEL_* variables ask for, or none when they name
// neither an exporter nor where spans go. node tells processes apart.
func Open(ctx context.Context, node string, log *slog.Logger) (*Tracer, error) {
	wanted, err := isWanted()
	if err != nil || !wanted {
		return nil, err
	}
	exporter, err := newExporter(ctx)
	if err != nil {
		return nil, err
	}
	otelglobal.SetErrorHandler(otelglobal.ErrorHandlerFunc(func(err error) {
		log.Warn("spans were not collected; check the OTEL_EXPORTER_OTLP_* variables and that the collector runs", "err", err)
	}))
	about, err := resource.New(ctx,
		resource.WithAttributes(attribute.String(ServiceName, "beeos"), attribute.String(ServiceVersion, beeos.Version), attribute.String(ServiceInstance, node)),
		resource.WithTelemetrySDK(), resource.WithFromEnv())
	if err != nil {
		log.Warn("what OTEL_RESOURCE_ATTRIBUTES says could not be read; write name=value,name=value", "err", err)
	}
	provider := sdk.NewTracerProvider(sdk.WithBatcher(exporter), sdk.WithResource(about), sdk.WithIDGenerator(idMaker{}))
	return &Tracer{provider: provider, tracer: provider.Tracer("github.com/beeos/beeos"), log: log}, nil
}

// isWanted reports whether the variables ask for traces.
func isWanted() (bool, error) {
	if strings.EqualFold(os.Getenv(envDisabled), "true") {
		return false, nil
	}
	switch exporter := os.Getenv(envExporter); exporter {
	case "":
		endpoint, _ := lookUp(envEndpoint)
		return endpoint != "", nil
	case "none":
		return false, nil
	case "otlp":
		return true, nil
	default:
		return false, fmt.Errorf("%s=%s is not known here — set it to otlp or none", envExporter, exporter)
	}
}

func newExporter(ctx context.Context) (*otlptrace.Exporter, error) {
	settings, err := readCollectorSettings()
	if err != nil {
		return nil, err
	}
	return otlptrace.New(ctx, newCollectorClient(settings))
}

// Close sends what has not been sent yet, and ends.
func (t *Tracer) Close() {
	if t == nil {
		return
	}
	ctx, cancel := context.WithTimeout(context.Background(), closeWithin)
	defer cancel()
	if err := t.provider.Shutdown(ctx); err != nil {
		t.log.Warn("the last spans were not collected", "err", err)
	}
}
