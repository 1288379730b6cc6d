# The image of `dendro serve`:
#
#   docker build -t dendro .
#   docker run -p 12800:12800 -p 11800:11800 -v dendro:/data dendro
#
# The build downloads Go modules, once per change of go.mod, and nothing else: DuckDB is in
# one of them, and the web pages are in the repository.
FROM golang:1.26-bookworm AS build
WORKDIR /src
COPY go.mod go.sum ./
RUN go mod download
COPY . .
ARG VERSION=development
RUN make install PREFIX=/usr DESTDIR=/out VERSION=$VERSION && install -d -m 755 -o 65532 -g 65532 /out/data

# The C and C++ libraries, certificates, and a user without a shell.
FROM gcr.io/distroless/cc-debian12:nonroot
COPY --from=build /out /
ENV DENDRO_STORE=/data/dendro.duckdb
VOLUME /data
EXPOSE 12800 11800
ENTRYPOINT ["/usr/bin/dendro"]
CMD ["serve", "--http-listen", "0.0.0.0:12800", "--grpc-listen", "0.0.0.0:11800"]
