package graphql

import (
	"strings"
	"sync"
)

// components are SkyWalking's numbers of the frameworks and libraries that create spans:
// the first number of each range, and the names from there on. A dash is an unassigned
// number.
var components = sync.OnceValue(func() map[int32]string {
	all := map[int32]string{}
	for _, run := range []struct {
		first int32
		names string
	}{
		{0, `Unknown Tomcat HttpClient Dubbo H2 Mysql ORACLE Redis Motan MongoDB Resin Feign OKHttp SpringRestTemplate
			SpringMVC Struts2 NutzMVC NutzHttp JettyClient JettyServer Memcached ShardingJDBC PostgreSQL GRPC ElasticJob
			RocketMQ httpasyncclient Kafka ServiceComb Hystrix Jedis SQLite h2-jdbc-driver mysql-connector-java ojdbc
			Spymemcached Xmemcached postgresql-jdbc-driver rocketMQ-producer rocketMQ-consumer kafka-producer
			kafka-consumer mongodb-driver SOFARPC ActiveMQ activemq-producer activemq-consumer Elasticsearch
			transport-client http rpc RabbitMQ rabbitmq-producer rabbitmq-consumer Canal Gson Redisson Lettuce Zookeeper
			Vertx ShardingSphere spring-cloud-gateway RESTEasy SolrJ Solr SpringAsync JdkHttp spring-webflux Play
			cassandra-java-driver Cassandra Light4J Pulsar pulsar-producer pulsar-consumer Ehcache SocketIO
			rest-high-level-client spring-tx Armeria JdkThreading KotlinCoroutine AvroServer AvroClient Undertow Finagle
			Mariadb mariadb-jdbc quasar InfluxDB influxdb-java brpc-java GraphQL spring-annotation HBase
			spring-kafka-consumer SpringScheduled quartz-scheduler xxl-job spring-webflux-webclient thrift-server
			thrift-client AsyncHttpClient dbcp mssql-jdbc-driver Apache-CXF dolphinscheduler JsonRpc seata MyBatis tcp
			AzureHttpTrigger Neo4j Sentinel GuavaCache AlibabaDruid HikariCP Fastjson Jackson ClickHouse-jdbc-driver
			ClickHouse Apache-Kylin-jdbc-driver Apache-Kylin GuavaEventBus AWSLambdaTrigger AWSLambdaGatewayAPIHTTP
			AWSLambdaGatewayAPIREST Apache-ShenYu Hutool https tls Micronaut NATS Impala-jdbc-driver Impala EventMesh
			eventmesh-producer eventmesh-consumer AWSDynamoDB AWSSNS AWSSQS Micrometer mtls amqp amqp-producer
			amqp-consumer Jersey Grizzly WebSphere Aerospike Nacos Netty-http c3p0 Derby-jdbc-driver Sqlite-jdbc-driver
			Db2-jdbc-driver Sybase-jdbc-driver OceanBase-jdbc-driver SolonMVC DNS Caffeine ThreadPerTask-executor ztunnel
			Dmdb-jdbc-driver spring-ai-unknown spring-ai-anthropic spring-ai-aws-bedrock spring-ai-azure-openai
			spring-ai-cohere spring-ai-deepseek spring-ai-gcp-genai spring-ai-gcp-vertex-ai spring-ai-mistral-ai
			spring-ai-openai spring-ai-huggingface spring-ai-minimax spring-ai-ollama spring-ai-zhipu-ai spring-ai
			spring-ldap LDAP`},
		{3001, `AspNetCore EntityFrameworkCore SqlClient CAP StackExchange.Redis SqlServer Npgsql MySqlConnector
			EntityFrameworkCore.InMemory EntityFrameworkCore.SqlServer EntityFrameworkCore.Sqlite
			Pomelo.EntityFrameworkCore.MySql Npgsql.EntityFrameworkCore.PostgreSQL InMemoryDatabase AspNet SmartSql
			FreeSql FreeRedis`},
		{4001, `HttpServer Express Egg Koa Axios Mongoose`},
		{5001, `ServiceCombMesher ServiceCombServiceCenter MOSN GoHttpServer GoHttpClient Gin Gear GoMicroClient GoMicroServer
			Kratos - GoMysql OpenFunction GoRedis Echo Lock GoMuxServer Iris GoFastHttpClient GoFastHttpServer Fiber
			GoFrame GoZero`},
		{6000, `Nginx Kong APISIX`},
		{7000, `Python Flask Requests PyMysql Django Tornado Urllib3 Sanic AioHttp Pyramid Psychopg Celery Falcon MysqlClient
			FastAPI Bottle AsyncPG AIORedis Websockets HTTPX`},
		{8001, `PHP cURL PDO Mysqli Yar Predis`},
		{9000, `EnvoyProxy`},
		{10000, `JavaScript ajax WeChat-MiniProgram AliPay-MiniProgram`},
		{11000, `Rust`},
		{12000, `Ruby Sinatra`},
		{13000, `GenAI`},
	} {
		for i, name := range strings.Fields(run.names) {
			if name != "-" {
				all[run.first+int32(i)] = name
			}
		}
	}
	return all
})

// componentName returns the name of a component; of an unknown one, that of 0.
func componentName(id int32) string {
	if name, ok := components()[id]; ok {
		return name
	}
	return components()[0]
}
