// Command collector is the OTLP receiver of the OpenTelemetry Collector, as a
// program: it takes spans over HTTP and gRPC and writes each batch as a line of
// OTLP's JSON. `make traces` runs the tests of traces against it.
//
// It is a module of its own because a collector needs more than all of BeeOS.
package main

import (
	"context"
	"flag"
	"fmt"
	"log"
	"os"
	"os/signal"
	"sync"
	"syscall"

	"go.opentelemetry.io/collector/component/componenttest"
	"go.opentelemetry.io/collector/consumer"
	"go.opentelemetry.io/collector/pdata/ptrace"
	"go.opentelemetry.io/collector/receiver/otlpreceiver"
	"go.opentelemetry.io/collector/receiver/receivertest"
)

func main() {
	http := flag.String("http", "127.0.0.1:4318", "where to take spans over HTTP")
	grpc := flag.String("grpc", "127.0.0.1:4317", "where to take spans over gRPC")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := run(ctx, *http, *grpc); err != nil {
		log.Fatal(err)
	}
}

func run(ctx context.Context, http, grpc string) error {
	spans, err := consumer.NewTraces((&writer{}).write)
	if err != nil {
		return err
	}
	factory := otlpreceiver.NewFactory()
	config := factory.CreateDefaultConfig().(*otlpreceiver.Config)
	config.Protocols.HTTP.GetOrInsertDefault().ServerConfig.NetAddr.Endpoint = http
	config.Protocols.GRPC.GetOrInsertDefault().NetAddr.Endpoint = grpc
	receiver, err := factory.CreateTraces(ctx, receivertest.NewNopSettings(factory.Type()), config, spans)
	if err != nil {
		return err
	}
	if err := receiver.Start(ctx, componenttest.NewNopHost()); err != nil {
		return err
	}
	fmt.Fprintln(os.Stderr, "ready")
	<-ctx.Done()
	return receiver.Shutdown(context.Background())
}

// writer writes spans to standard output.
type writer struct {
	mu   sync.Mutex
	json ptrace.JSONMarshaler
}

func (w *writer) write(_ context.Context, batch ptrace.Traces) error {
	line, err := w.json.MarshalTraces(batch)
	if err != nil {
		return err
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	_, err = os.Stdout.Write(append(line, '\n'))
	return err
}
