# The operator's image; `ko build ./cmd/proxplane` makes the same without Docker.
FROM golang:1.26 AS build
WORKDIR /src
COPY go.mod go.sum ./
RUN go mod download
COPY . .
RUN CGO_ENABLED=0 go build -trimpath -ldflags "-s -w" -o /proxplane ./cmd/proxplane

FROM scratch
COPY --from=build /etc/ssl/certs/ca-certificates.crt /etc/ssl/certs/
COPY --from=build /proxplane /proxplane
USER 65532:65532
ENTRYPOINT ["/proxplane"]
