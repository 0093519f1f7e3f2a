# The operator's image; `make image` makes the same without Docker.
FROM golang:1.26 AS build
WORKDIR /src
COPY go.mod go.sum ./
RUN go mod download
COPY . .
ARG VERSION= COMMIT= BUILT=
RUN CGO_ENABLED=0 go build -trimpath \
	-ldflags "-s -w -X github.com/proxplane/proxplane/cli/version.version=$VERSION -X github.com/proxplane/proxplane/cli/version.commit=$COMMIT -X github.com/proxplane/proxplane/cli/version.built=$BUILT" \
	-o /proxplane ./cmd/proxplane

FROM scratch
COPY --from=build /etc/ssl/certs/ca-certificates.crt /etc/ssl/certs/
COPY --from=build /proxplane /proxplane
USER 65532:65532
ENTRYPOINT ["/proxplane"]
