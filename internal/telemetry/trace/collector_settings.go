package trace

import (
	"cmp"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"net/url"
	"os"
	"strconv"
	"strings"
	"time"
)

// The variables about the collector. Each has a form for traces alone, which wins.
const (
	envEndpoint          = "ENDPOINT"
	envProtocol          = "PROTOCOL"
	envHeaders           = "HEADERS"
	envTimeout           = "TIMEOUT"
	envCompression       = "COMPRESSION"
	envInsecure          = "INSECURE"
	envCertificate       = "CERTIFICATE"
	envClientCertificate = "CLIENT_CERTIFICATE"
	envClientKey         = "CLIENT_KEY"
)

const (
	allSignals  = "OTEL_EXPORTER_OTLP_"
	tracesAlone = "OTEL_EXPORTER_OTLP_TRACES_"

	defaultTimeout = 10 * time.Second
	httpPath       = "/v1/traces"
	grpcPath       = "/opentelemetry.proto.collector.trace.v1.TraceService/Export"
)

// collectorSettings is what the variables say of the collector.
type collectorSettings struct {
	grpc    bool
	url     string
	headers map[string]string
	timeout time.Duration // of one attempt
	gzip    bool
	tls     *tls.Config
}

// lookUp returns the value of a variable, and its whole name.
func lookUp(name string) (value, variable string) {
	if value := os.Getenv(tracesAlone + name); value != "" {
		return value, tracesAlone + name
	}
	return os.Getenv(allSignals + name), allSignals + name
}

func readCollectorSettings() (collectorSettings, error) {
	var s collectorSettings
	var errs [6]error
	s.grpc, errs[0] = readProtocol()
	s.url, errs[1] = readEndpoint(s.grpc)
	s.headers, errs[2] = readHeaders()
	s.timeout, errs[3] = readTimeout()
	s.gzip, errs[4] = readCompression()
	s.tls, errs[5] = readCertificates()
	return s, errors.Join(errs[:]...)
}

func readProtocol() (grpc bool, err error) {
	switch protocol, variable := lookUp(envProtocol); protocol {
	case "", "http/protobuf":
		return false, nil
	case "grpc":
		return true, nil
	default:
		return false, fmt.Errorf("%s=%s is not known here — set it to http/protobuf or grpc", variable, protocol)
	}
}

// readEndpoint returns where spans are posted. The address for all signals is a
// base, the one for traces is taken as it is; gRPC has a path of its own.
func readEndpoint(grpc bool) (string, error) {
	value, variable := lookUp(envEndpoint)
	if value == "" {
		value = "http://localhost:4318"
		if grpc {
			value = "http://localhost:4317"
		}
	}
	if !strings.Contains(value, "://") { // gRPC's own way to write it
		scheme := "https://"
		if insecure, _ := lookUp(envInsecure); strings.EqualFold(insecure, "true") {
			scheme = "http://"
		}
		value = scheme + value
	}
	at, err := url.Parse(value)
	if err != nil || at.Host == "" || at.Scheme != "http" && at.Scheme != "https" {
		return "", fmt.Errorf("%s is no address of a collector — write it like http://localhost:4318", variable)
	}
	switch {
	case grpc:
		at.Path = grpcPath
	case variable == allSignals+envEndpoint:
		at = at.JoinPath(httpPath)
	default:
		at.Path = cmp.Or(at.Path, "/")
	}
	return at.String(), nil
}

// readHeaders reads name=value,name=value, where values are escaped as in URLs.
func readHeaders() (map[string]string, error) {
	list, variable := lookUp(envHeaders)
	headers := map[string]string{}
	for pair := range strings.SplitSeq(list, ",") {
		if strings.TrimSpace(pair) == "" {
			continue
		}
		name, value, found := strings.Cut(pair, "=")
		value, err := url.PathUnescape(strings.TrimSpace(value))
		if name = strings.TrimSpace(name); !found || err != nil || name == "" {
			return nil, fmt.Errorf("%s could not be read — write name=value,name=value", variable) // the value may be a key
		}
		headers[name] = value
	}
	return headers, nil
}

func readTimeout() (time.Duration, error) {
	value, variable := lookUp(envTimeout)
	if value == "" {
		return defaultTimeout, nil
	}
	ms, err := strconv.Atoi(value)
	if err != nil || ms <= 0 {
		return 0, fmt.Errorf("%s=%s is no number of milliseconds — write it like 10000", variable, value)
	}
	return time.Duration(ms) * time.Millisecond, nil
}

func readCompression() (gzip bool, err error) {
	switch value, variable := lookUp(envCompression); value {
	case "", "none":
		return false, nil
	case "gzip":
		return true, nil
	default:
		return false, fmt.Errorf("%s=%s is not known here — set it to gzip or none", variable, value)
	}
}

// readCertificates reads the authority that the collector's certificate is from,
// and what we show to the collector; nil is what the system trusts.
func readCertificates() (*tls.Config, error) {
	config := &tls.Config{MinVersion: tls.VersionTLS12}
	if file, variable := lookUp(envCertificate); file != "" {
		pem, err := os.ReadFile(file)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", variable, err)
		}
		config.RootCAs = x509.NewCertPool()
		if !config.RootCAs.AppendCertsFromPEM(pem) {
			return nil, fmt.Errorf("%s=%s holds no certificate — give a PEM file", variable, file)
		}
	}
	certificate, variable := lookUp(envClientCertificate)
	key, _ := lookUp(envClientKey)
	if certificate != "" || key != "" {
		pair, err := tls.LoadX509KeyPair(certificate, key)
		if err != nil {
			return nil, fmt.Errorf("%s and its key: %w", variable, err)
		}
		config.Certificates = []tls.Certificate{pair}
	}
	return config, nil
}
