import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.databind.node.ArrayNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.io.PrintStream;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import org.apache.kafka.clients.consumer.ConsumerPartitionAssignor;
import org.apache.kafka.clients.consumer.ConsumerPartitionAssignor.Assignment;
import org.apache.kafka.clients.consumer.ConsumerPartitionAssignor.GroupSubscription;
import org.apache.kafka.clients.consumer.ConsumerPartitionAssignor.Subscription;
import org.apache.kafka.clients.consumer.CooperativeStickyAssignor;
import org.apache.kafka.clients.consumer.RangeAssignor;
import org.apache.kafka.clients.consumer.RoundRobinAssignor;
import org.apache.kafka.clients.consumer.StickyAssignor;
import org.apache.kafka.clients.consumer.internals.ConsumerProtocol;
import org.apache.kafka.common.Cluster;
import org.apache.kafka.common.Node;
import org.apache.kafka.common.PartitionInfo;
import org.apache.kafka.common.TopicPartition;

/**
 * Answers a line for each line: what an assignor of Kafka's consumers gives to whom. A question is a group as JSON (see
 * tests/assignment/as_java.py), an answer an object of member ids with lists of [Topic, partition], or a text: the exception's name.
 */
public class Assignments {
    private static final ObjectMapper JSON = new ObjectMapper();

    public static void main(String[] arguments) throws Exception {
        BufferedReader in = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.US_ASCII));
        PrintStream out = new PrintStream(System.out, false, StandardCharsets.US_ASCII);
        for (String line = in.readLine(); line != null; line = in.readLine()) {
            JsonNode group = JSON.readTree(line);
            String answer;
            try {
                answer = JSON.writeValueAsString(assign(group));
            } catch (RuntimeException failed) {
                answer = JSON.writeValueAsString(failed.getClass().getSimpleName());
            }
            StringBuilder ascii = new StringBuilder();
            for (char unit : answer.toCharArray())
                ascii.append(unit < 128 ? String.valueOf(unit) : String.format("\\u%04x", (int) unit));
            out.println(ascii);
        }
        out.flush();
    }

    private static ObjectNode assign(JsonNode group) {
        String name = group.get("assignor").asText();
        Map<String, Subscription> subscriptions = new HashMap<>();
        for (JsonNode member : group.get("members"))
            subscriptions.put(member.get("id").asText(), subscription(name, member));
        ObjectNode answer = JSON.createObjectNode();
        assignor(name).assign(cluster(group), new GroupSubscription(subscriptions)).groupAssignment().forEach((member, given) -> {
            ArrayNode partitions = answer.putArray(member);
            for (TopicPartition each : given.partitions())
                partitions.addArray().add(each.topic()).add(each.partition());
        });
        return answer;
    }

    private static ConsumerPartitionAssignor assignor(String name) {
        switch (name) {
            case "range": return new RangeAssignor();
            case "roundrobin": return new RoundRobinAssignor();
            case "sticky": return new StickyAssignor();
            case "cooperative-sticky": return new CooperativeStickyAssignor();
            default: throw new IllegalArgumentException(name);
        }
    }

    /** As it arrives at the leader: written and read by Kafka's own protocol. */
    private static Subscription subscription(String assignor, JsonNode member) {
        List<String> topics = new ArrayList<>();
        member.get("topics").forEach(topic -> topics.add(topic.asText()));
        List<TopicPartition> owned = new ArrayList<>();
        member.get("owned").forEach(each -> owned.add(new TopicPartition(each.get(0).asText(), each.get(1).asInt())));
        JsonNode known = member.get("user_data_generation");
        ByteBuffer userData = null;
        if (assignor.equals("sticky"))
            userData = previous(owned, known);
        else if (assignor.equals("cooperative-sticky") && !known.isNull())
            userData = ByteBuffer.allocate(4).putInt(0, known.asInt());
        Subscription said = new Subscription(topics, userData, assignor.equals("sticky") ? List.of() : owned,
                member.get("generation").asInt(-1), text(member.get("rack")));
        Subscription heard = ConsumerProtocol.deserializeSubscription(ConsumerProtocol.serializeSubscription(said));
        heard.setGroupInstanceId(text(member.get("instance_id")));
        return heard;
    }

    /** The sticky assignor's user data: its second version, or the first, which has no generation. */
    private static ByteBuffer previous(List<TopicPartition> owned, JsonNode generation) {
        ByteBuffer data = ByteBuffer.allocate(1 << 16);
        data.putInt(owned.size());
        for (TopicPartition each : owned) {
            byte[] topic = each.topic().getBytes(StandardCharsets.UTF_8);
            data.putShort((short) topic.length).put(topic).putInt(1).putInt(each.partition());
        }
        if (!generation.isNull())
            data.putInt(generation.asInt());
        return data.flip();
    }

    /** Each partition has one replica, on the brokers in turn. */
    private static Cluster cluster(JsonNode group) {
        List<Node> nodes = new ArrayList<>();
        for (JsonNode rack : group.get("broker_racks"))
            nodes.add(new Node(nodes.size(), "broker", 9092, rack.asText()));
        if (nodes.isEmpty())
            nodes.add(new Node(0, "broker", 9092));
        List<PartitionInfo> partitions = new ArrayList<>();
        group.get("topics").fields().forEachRemaining(topic -> {
            for (int number = 0; number < topic.getValue().asInt(); number++) {
                Node node = nodes.get(number % nodes.size());
                Node[] replicas = {node};
                partitions.add(new PartitionInfo(topic.getKey(), number, node, replicas, replicas));
            }
        });
        return new Cluster("cluster", nodes, partitions, Set.of(), Set.of());
    }

    private static Optional<String> text(JsonNode value) {
        return value.isNull() ? Optional.empty() : Optional.of(value.asText());
    }
}
